import { useEffect, useRef } from 'preact/hooks';
import { PAGES } from '../pages';

/** A command of the keyboard. */
export interface Shortcut {
  /** Keys to press one after another. */
  keys: readonly string[];
  name: string;
  /** A path within the mode, or one of the dialogs. */
  opens: { page: string } | { dialog: 'shortcuts' };
}

/** Commands of single keys. They work outside fields, and while the user has not turned them off. */
export const SHORTCUTS: readonly Shortcut[] = [
  { keys: ['?'], name: 'Show keyboard shortcuts', opens: { dialog: 'shortcuts' } },
  { keys: ['n'], name: 'Create agent', opens: { page: '/agents/new' } },
  ...PAGES.map(({ path, name, key }) => ({ keys: ['g', key], name: `Go to ${name}`, opens: { page: path } })),
];

const LONGEST_FIRST = SHORTCUTS.toSorted((a, b) => b.keys.length - a.keys.length);

/** How long the second key may take. */
const SEQUENCE_MS = 1_500;
const STORED_AS = 'callwright-shortcuts';
const TYPING = 'input, textarea, select, [contenteditable]';

const isApple = /^(Mac|iP)/.test(navigator.platform);
/** The keys of the command palette, as people write them. */
export const PALETTE_KEYS = isApple ? '⌘ K' : 'Ctrl K';

/** Whether single keys are commands. Speech input and unsteady hands may press them by accident. */
export const areShortcutsOn = () => localStorage.getItem(STORED_AS) !== 'off';
export const setShortcutsOn = (isOn: boolean) => localStorage.setItem(STORED_AS, isOn ? 'on' : 'off');

/** Listens to the keyboard on all pages, except in dialogs, and for single keys except in fields. */
export function useShortcuts(on: { palette: () => void; shortcut: (shortcut: Shortcut) => void }): void {
  const latest = useRef(on);
  latest.current = on;
  useEffect(() => {
    let pressed: string[] = [];
    let pressedAt = 0;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || document.querySelector('dialog[open]:not(.palette)')) return;
      if (isPaletteKey(event)) {
        event.preventDefault();
        latest.current.palette();
        return;
      }
      if (!isCommand(event)) return;
      pressed = [...(event.timeStamp - pressedAt < SEQUENCE_MS ? pressed.slice(-1) : []), event.key];
      pressedAt = event.timeStamp;
      const found = LONGEST_FIRST.find(({ keys }) =>
        keys.every((key, index) => pressed.at(index - keys.length) === key),
      );
      if (found === undefined) return;
      pressed = [];
      event.preventDefault();
      latest.current.shortcut(found);
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}

function isPaletteKey({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean {
  return key.toLowerCase() === 'k' && (isApple ? metaKey && !ctrlKey : ctrlKey && !metaKey) && !altKey && !shiftKey;
}

/** Whether a key is for the page, and not for a field or the browser. */
function isCommand({ target, ctrlKey, metaKey, altKey, repeat }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey || repeat || document.querySelector('dialog[open]')) return false;
  if (target instanceof Element && target.closest(TYPING) !== null) return false;
  return areShortcutsOn();
}
