import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

/**
 * A modal dialog. The browser keeps the focus inside and closes the dialog on Escape. Without `onClose`, only a choice
 * in the dialog closes it.
 */
export function Dialog(p: { title: string; onClose?: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const focused = document.activeElement;
    dialog.current?.showModal();
    // The browser gives the focus back only if the dialog was closed before it is removed.
    return () => (focused instanceof HTMLElement ? focused.focus() : undefined);
  }, []);
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
            Close
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
