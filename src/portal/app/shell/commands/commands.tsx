import { useLocation } from 'preact-iso';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../../components/icon';
import { usePortal } from '../../session';
import { useUnsavedChanges } from '../unsaved-changes';
import { CommandPalette } from './command-palette';
import { PALETTE_KEYS, useShortcuts } from './shortcuts';
import { ShortcutsDialog } from './shortcuts-dialog';

/** The button of the command palette, its dialogs, and the keyboard shortcuts. */
export function Commands() {
  const { to } = usePortal();
  const { url, route } = useLocation();
  const { leave } = useUnsavedChanges();
  const [shown, setShown] = useState<'palette' | 'shortcuts'>();
  /** Whether the next page was opened by a command, so that the focus is on nothing that belongs to it. */
  const isOpening = useRef(false);

  function open(path: string): void {
    setShown(undefined);
    leave(() => {
      isOpening.current = true;
      route(path);
    });
  }

  useEffect(() => {
    if (isOpening.current) document.getElementById('content')?.focus();
    isOpening.current = false;
  }, [url]);
  useShortcuts({
    palette: () => setShown((before) => (before === 'palette' ? undefined : 'palette')),
    shortcut: ({ opens }) => ('page' in opens ? open(to(opens.page)) : setShown(opens.dialog)),
  });

  const Shown = shown === 'palette' ? CommandPalette : ShortcutsDialog;
  return (
    <>
      <button type="button" class="button find" aria-haspopup="dialog" onClick={() => setShown('palette')}>
        <Icon name="search" /> Find <kbd>{PALETTE_KEYS}</kbd>
      </button>
      {shown === undefined ? null : (
        <Shown
          onOpen={open}
          onShortcuts={() => setShown('shortcuts')}
          onClose={() => setShown((before) => (before === shown ? undefined : before))}
        />
      )}
    </>
  );
}
