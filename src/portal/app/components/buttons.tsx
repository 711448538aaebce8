/** A small button. @param p.label the name for screen readers, where the text alone does not say to what it belongs */
export function SmallButton(p: { label?: string; onClick: () => void; children: string }) {
  return (
    <button
      type="button"
      class="button button-small"
      {...(p.label === undefined ? {} : { 'aria-label': p.label })}
      onClick={p.onClick}
    >
      {p.children}
    </button>
  );
}
