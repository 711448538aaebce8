import type { ComponentChildren } from 'preact';
import type { Loading } from '../use-data';
import { Icon, type IconName } from './icon';

/** Renders the loading, failed, empty or ready state of loaded data. */
export function Loaded<T>(p: {
  of: Loading<T> & { reload: () => void };
  isEmpty?: (data: T) => boolean;
  /** An `Empty`. */
  empty?: ComponentChildren;
  children: (data: T) => ComponentChildren;
}) {
  const { of: loading } = p;
  if (loading.state === 'failed') {
    return (
      <div class="notice notice-bad" role="alert">
        <p>{loading.error.message}</p>
        <button type="button" class="button" onClick={loading.reload}>
          Try again
        </button>
      </div>
    );
  }
  if (loading.data === undefined) return <Skeleton />;
  if (p.isEmpty?.(loading.data)) return <>{p.empty}</>;
  return <>{p.children(loading.data)}</>;
}

/** Says why a list is empty, what belongs there, and how to get it there. */
export function Empty(p: {
  icon: IconName;
  title: string;
  /** Links or buttons of what to do next. */
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <div class="empty">
      <Icon name={p.icon} />
      <p class="empty-title">{p.title}</p>
      <p>{p.children}</p>
      {p.actions === undefined ? null : <div class="actions">{p.actions}</div>}
    </div>
  );
}

export function Skeleton() {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      <span />
      <span />
      <span />
    </div>
  );
}

export function Failure({ children }: { children?: ComponentChildren }) {
  if (children === undefined || children === '') return null;
  return (
    <p class="notice notice-bad" role="alert">
      {children}
    </p>
  );
}
