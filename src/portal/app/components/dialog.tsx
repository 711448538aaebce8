import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

/** A modal dialog. The browser keeps the focus inside and closes the dialog on Escape. */
export function Dialog(p: { title: string; onClose: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={p.onClose}>
      <div class="dialog-head">
        <h2 id={id}>{p.title}</h2>
        <button type="button" class="button button-small" onClick={() => dialog.current?.close()}>
          Close
        </button>
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
