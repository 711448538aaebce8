import { useEffect, useState } from 'preact/hooks';
import type { Mode } from '../api';
import { localTime, utcTime } from '../format';
import { labelOf } from '../labels';
import { usePortal } from '../session';
import { Icon } from './icon';

/** Shows a time in the viewer's time zone, and in UTC on hover. */
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
  active: 'good',
};

export function Status({ of: status }: { of: string }) {
  return <span class={`badge badge-${TONE[status] ?? 'quiet'}`}>{labelOf(status)}</span>;
}

/**
 * Marks agents in test mode, which offers those of both modes: live calls use the live ones only. Lists of live mode do
 * without the mark, because all their agents are live.
 */
export function ModeBadge({ of: agent, isShownInLiveMode }: { of: { mode: Mode }; isShownInLiveMode?: true }) {
  const { mode } = usePortal();
  if (agent.mode === 'test') return <span class="badge badge-test">Test</span>;
  return mode === 'test' || isShownInLiveMode ? <span class="badge badge-good">Live</span> : null;
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
      <Icon name={copied ? 'check' : 'copy'} /> <span aria-live="polite">{copied ? 'Copied' : label}</span>
    </button>
  );
}

/** Shows text with a copy button. Long lines scroll. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div class="code">
      <div class="code-head">
        <span class="breakable">{label}</span>
        <Copy text={text} />
      </div>
      <pre tabIndex={0} aria-label={label}>
        <code>{text}</code>
      </pre>
    </div>
  );
}

/** Shows a credential that is displayed only once. */
export function Secret({ value, what }: { value: string; what: string }) {
  return (
    <div class="notice notice-good" role="status">
      <Code text={value} label={what} />
      <p>It is shown only once. Store it in a safe place.</p>
    </div>
  );
}
