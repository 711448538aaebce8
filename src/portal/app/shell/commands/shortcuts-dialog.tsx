import { useState } from 'preact/hooks';
import { Dialog } from '../../components/dialog';
import { CheckField } from '../../components/fields';
import type { DialogProps } from './palette-entries';
import { areShortcutsOn, PALETTE_KEYS, setShortcutsOn, SHORTCUTS } from './shortcuts';

/** Lists the keyboard shortcuts, and turns those of single keys off. */
export function ShortcutsDialog({ onClose }: DialogProps) {
  const [isOn, setOn] = useState(areShortcutsOn());
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="shortcuts">
        <div>
          <dt>Find pages, calls and agents</dt>
          <dd>
            <kbd>{PALETTE_KEYS}</kbd>
          </dd>
        </div>
        {SHORTCUTS.map(({ keys, name }) => (
          <div key={name} class={isOn ? '' : 'off'}>
            <dt>{name}</dt>
            <dd>
              {keys.map((key, index) => (
                <>
                  {index === 0 ? null : ' then '}
                  <kbd>{key.toUpperCase()}</kbd>
                </>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <CheckField
        label="Single keys are shortcuts"
        name="shortcuts"
        value={isOn}
        hint="Outside fields. Turn this off if you press keys by accident or use speech input."
        onChange={(next) => {
          setShortcutsOn(next);
          setOn(next);
        }}
      />
    </Dialog>
  );
}
