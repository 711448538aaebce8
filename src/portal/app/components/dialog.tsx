import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from './icon';

/** Opens a dialog element as a modal one, and gives the focus back when it is removed. Returns its reference. */
export function useModal() {
  const dialog = useRef<HTMLDialogElement>(null);
  // In the same step as the key that opens it, so that the next keys reach the dialog.
  useLayoutEffect(() => {
    const focused = document.activeElement;
    dialog.current?.showModal();
    // The browser gives the focus back only if the dialog was closed before it is removed.
    return () => (focused instanceof HTMLElement ? focused.focus() : undefined);
  }, []);
  return dialog;
}

/**
 * A modal dialog. The browser keeps the focus inside and closes the dialog on Escape. Without `onClose`, only a choice
 * in the dialog closes it.
 */
export function Dialog(p: { title: string; onClose?: () => void; children: ComponentChildren }) {
  const dialog = useModal();
  const id = useId();
  const { onClose } = p;
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      // Browsers let a second Escape close every dialog.
      onClose={onClose ?? (() => dialog.current?.showModal())}
      onCancel={(event) => (onClose === undefined ? event.preventDefault() : undefined)}
    >
      <div class="dialog-head">
        <h2 id={id}>{p.title}</h2>
        {onClose === undefined ? null : (
          <button type="button" class="button button-small" onClick={() => dialog.current?.close()}>
            <Icon name="close" /> Close
          </button>
        )}
      </div>
      {p.children}
    </dialog>
  );
}

/** Asks for confirmation before an irreversible action. */
export function Confirm(p: {
  title: string;
  text: string;
  action: string;
  onConfirm: () => Promise<void>;
  onClose: () => void;
}) {
  return (
    <Dialog title={p.title} onClose={p.onClose}>
      <p>{p.text}</p>
      <button type="button" class="button button-bad" onClick={() => void p.onConfirm().finally(p.onClose)}>
        {p.action}
      </button>
    </Dialog>
  );
}
