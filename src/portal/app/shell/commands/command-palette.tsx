import type { TargetedKeyboardEvent } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { useModal } from '../../components/dialog';
import { Icon } from '../../components/icon';
import type { DialogProps, Entry, Group } from './palette-entries';
import { useEntries } from './use-entries';

/** Longest search of calls that the service accepts. */
const MAX_LENGTH = 100;

/**
 * Finds pages, calls, agents and commands by the keyboard. The focus stays in the field, and the arrow keys move through the
 * results.
 */
export function CommandPalette(on: DialogProps) {
  const dialog = useModal();
  const { text, chosen, search, setChosen } = useSearchText();
  const { groups, isLoading } = useEntries(text, on);
  const entries = groups.flatMap((group) => group.entries);
  const at = Math.min(chosen, entries.length - 1);
  const active = entries[at];
  const list = useId();
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [active?.id]);

  /** The browser gives the focus back before anything else opens. */
  function choose(entry: Entry): void {
    dialog.current?.close();
    entry.run();
  }

  function onKeyDown(event: TargetedKeyboardEvent<HTMLInputElement>): void {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter' && active !== undefined) choose(active);
    else if (step !== undefined) setChosen((at + step + entries.length) % Math.max(1, entries.length));
    else return;
    event.preventDefault();
  }

  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Find"
      onClose={on.onClose}
      // The dialog itself is under the pointer only beside its content.
      onClick={(event) => (event.target === event.currentTarget ? dialog.current?.close() : undefined)}
    >
      <div class="palette-search">
        <Icon name="search" />
        <input
          role="combobox"
          aria-label="Find pages, calls and agents"
          aria-autocomplete="list"
          aria-expanded={entries.length > 0}
          {...(active === undefined ? {} : { 'aria-controls': list, 'aria-activedescendant': `${list}-${active.id}` })}
          autocomplete="off"
          spellcheck={false}
          maxLength={MAX_LENGTH}
          placeholder="Page, agent, number or words of a call"
          value={text}
          onInput={({ currentTarget }) => search(currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      </div>
      {entries.length === 0 ? null : <Results id={list} groups={groups} active={active} onChoose={choose} />}
      <Footer count={entries.length} isLoading={isLoading} />
    </dialog>
  );
}

/** The text, and the number of the chosen result. Another text begins at the first result. */
function useSearchText() {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const search = (next: string) => {
    setText(next);
    setChosen(0);
  };
  return { text, chosen, search, setChosen };
}

/** The number of results, for screen readers unless there are none, and the keys. */
function Footer({ count, isLoading }: { count: number; isLoading: boolean }) {
  return (
    <>
      <p class={count === 0 ? 'palette-none' : 'unseen'} role="status">
        {statusOf(count, isLoading)}
      </p>
      <p class="palette-keys" aria-hidden="true">
        <kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close
      </p>
    </>
  );
}

function statusOf(count: number, isLoading: boolean): string {
  if (count > 0) return count === 1 ? '1 result' : `${count} results`;
  return isLoading
    ? 'Searching…'
    : 'Nothing found. Calls are found by phone number, external ID or words that were said.';
}

function Results(p: {
  id: string;
  groups: readonly Group[];
  active: Entry | undefined;
  onChoose: (entry: Entry) => void;
}) {
  const { id, groups, active } = p;
  return (
    <div class="palette-list" role="listbox" id={id} aria-label="Results">
      {groups.map((group) => (
        <div key={group.name} role="group" aria-labelledby={`${id} ${group.name}`.replaceAll(' ', '-')}>
          <div class="palette-group" id={`${id} ${group.name}`.replaceAll(' ', '-')} role="presentation">
            {group.name}
          </div>
          {group.entries.map((entry) => (
            <div
              key={entry.id}
              id={`${id}-${entry.id}`}
              role="option"
              aria-selected={entry === active}
              class="palette-entry"
              // The focus stays in the field.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => p.onChoose(entry)}
            >
              <Icon name={entry.icon} />
              <span class="palette-name">{entry.name}</span>
              {entry.detail === undefined ? null : <span class="quiet">{entry.detail}</span>}
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}
