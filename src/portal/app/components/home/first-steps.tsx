import type { ComponentChildren } from 'preact';
import { usePortal } from '../../session';
import { pathIn } from '../../shell/paths';
import { SmallButton } from '../buttons';
import { Icon } from '../icon';
import { STEPS, type Step } from './use-first-steps';

interface StepTexts {
  title: string;
  /** Why to take the step, and how. */
  text: ComponentChildren;
  /** The link to where the step is taken. */
  action: string;
  path: string;
}

const TEXTS: Readonly<Record<Step, StepTexts>> = {
  hear: {
    title: 'Hear an agent',
    text: 'Describe an agent in a sentence and press “Start talking”. It answers in this browser, by voice or in writing, without a phone and before you save it.',
    action: 'Talk with an agent',
    path: pathIn('test', '/agents/new'),
  },
  write: {
    title: 'Write yours',
    text: 'Say who the agent is, what it should find out and when to hang up. Under Data you name the values that each call returns. Save it to call with it.',
    action: 'Create agent',
    path: pathIn('test', '/agents/new'),
  },
  webhook: {
    title: 'Receive a webhook',
    text: (
      <>
        Set the webhook URL of an agent and place a call. When the call ends, your server receives the outcome. To try
        it on your machine, run <code>npx callwright webhooks listen</code>.
      </>
    ),
    action: 'Open webhooks',
    path: pathIn('test', '/webhooks'),
  },
  key: {
    title: 'Get a key',
    text: 'Your application authenticates with an API key. A test key places simulated calls that cost no real money, so begin with one.',
    action: 'Create a test key',
    path: pathIn('test', '/keys'),
  },
  live: {
    title: 'Go live',
    text: 'Copy the agent to live mode with the button on its page, create a live key, and place a call with it. Live calls need a balance in live mode and are billed by the second.',
    action: 'Switch to live mode',
    path: pathIn('live', ''),
  },
};

/** The last step once the member has switched to live mode. */
const LIVE_IN_LIVE_MODE: StepTexts = {
  ...TEXTS.live,
  text: 'Copy a test agent to live mode with the button on its page, create a live key here, and place a call with it. Live calls need a balance in live mode and are billed by the second.',
  action: 'Create a live key',
  path: pathIn('live', '/keys'),
};

/** The steps from the sign-up to the first live call. The first one that is left is explained. */
export function FirstSteps(p: { taken: readonly Step[]; onHide: () => void; onClose: () => void }) {
  const { session } = usePortal();
  const { taken, onHide } = p;
  const next = STEPS.find((step) => !taken.includes(step));
  if (next === undefined) return <AllDone onClose={p.onClose} />;
  return (
    <section class="card" aria-label="First steps">
      <div class="card-head">
        <h2>First steps{session === undefined ? '' : `, ${session.member.name}`}</h2>
        <span class="quiet">
          {taken.length} of {STEPS.length} done
        </span>
      </div>
      <progress class="steps-progress" max={STEPS.length} value={taken.length} aria-label="Steps done" />
      <ol class="steps">
        {STEPS.map((step) => (
          <StepRow key={step} step={step} isTaken={taken.includes(step)} isNext={step === next} />
        ))}
      </ol>
      <button type="button" class="button button-small" onClick={onHide}>
        Hide first steps
      </button>
    </section>
  );
}

function AllDone({ onClose }: { onClose: () => void }) {
  return (
    <section class="notice notice-good" aria-label="First steps" role="status">
      <p>
        <strong>All done.</strong> You have taken all first steps, up to a live call. The{' '}
        <a href="/docs">API reference</a> lists what else your application can do.
      </p>
      <SmallButton onClick={onClose}>Close</SmallButton>
    </section>
  );
}

function StepRow({ step, isTaken, isNext }: { step: Step; isTaken: boolean; isNext: boolean }) {
  const { mode } = usePortal();
  const { title, text, action, path } = step === 'live' && mode === 'live' ? LIVE_IN_LIVE_MODE : TEXTS[step];
  return (
    <li class={isTaken ? 'step taken' : 'step'} {...(isNext ? { 'aria-current': 'step' as const } : {})}>
      <Icon name={isTaken ? 'circleCheck' : 'circle'} />
      <details open={isNext}>
        <summary>
          {title}
          <span class="unseen">{isTaken ? ' (done)' : ' (not done)'}</span>
        </summary>
        <p>{text}</p>
        <a class={isNext ? 'button button-main' : 'button'} href={path}>
          {action}
        </a>
      </details>
    </li>
  );
}
