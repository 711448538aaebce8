import { useEffect, useState } from 'preact/hooks';
import { localTime, utcTime, words } from '../format';

/** A moment in the viewer's zone; UTC on hover. */
export function Time({ at }: { at: string | null | undefined }) {
  if (!at) return <span class="quiet">–</span>;
  return (
    <time dateTime={at} title={utcTime(at)}>
      {localTime(at)}
    </time>
  );
}

const TONE: Record<string, string> = {
  COMPLETED: 'good',
  FAILED: 'bad',
  CANCELLED: 'quiet',
  IN_PROGRESS: 'live',
  RINGING: 'live',
  IDLE: 'quiet',
  delivered: 'good',
  failed: 'bad',
  pending: 'live',
};

export function Status({ of: status }: { of: string }) {
  return <span class={`badge badge-${TONE[status] ?? 'quiet'}`}>{words(status.toLowerCase())}</span>;
}

/** Marks an agent that live calls do not know. */
export function TestBadge({ of: agent }: { of: { mode: 'live' | 'test' } }) {
  return agent.mode === 'test' ? <span class="badge badge-test">Test</span> : null;
}

export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 2_000);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <button
      type="button"
      class="button button-small"
      onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
    >
      <span aria-live="polite">{copied ? 'Copied' : label}</span>
    </button>
  );
}

/** Text to paste, with its copy button; long lines scroll. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div class="code">
      <pre tabIndex={0} aria-label={label}>
        <code>{text}</code>
      </pre>
      <Copy text={text} />
    </div>
  );
}

/** A credential that is shown this once. */
export function Secret({ value, what }: { value: string; what: string }) {
  return (
    <div class="notice notice-good" role="status">
      <p>
        <strong>{what}</strong> It is shown only now: keep it in a safe place.
      </p>
      <Code text={value} label={what} />
    </div>
  );
}
