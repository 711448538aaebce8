import type { ComponentChildren } from 'preact';
import type { Loading } from '../use-data';

/** Renders the loading, failed, empty or ready state of loaded data. */
export function Loaded<T>(p: {
  of: Loading<T> & { reload: () => void };
  isEmpty?: (data: T) => boolean;
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
  if (p.isEmpty?.(loading.data)) return <div class="empty">{p.empty}</div>;
  return <>{p.children(loading.data)}</>;
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
