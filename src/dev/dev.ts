import { DEMO_EMAIL } from './seed.js';
import { startStack, type Stack } from './launcher.js';
import { dataFolder } from './runtime-file.js';
import { aborted, untilStopped } from './processes/stop-signals.js';

/**
 * Runs `callwright dev`: starts everything, prints the addresses and runs until it is stopped.
 * @throws Error with a one-sentence message when it cannot start
 */
export async function runDev(env: NodeJS.ProcessEnv): Promise<void> {
  const write = (line: string) => void process.stdout.write(`${line}\n`);
  const report = (line: string) => write(`callwright: ${line}`);
  const folder = dataFolder(env, process.cwd());
  await untilStopped(async (signal) => {
    const began = Date.now();
    try {
      const stack = await startStack({ env, dataFolder: folder, report, log: write, signal });
      write(introduction(stack, folder, Date.now() - began));
      await aborted(signal);
      report('stopping');
      await stack.stop();
      report('stopped');
    } catch (error) {
      if (!signal.aborted) throw error;
      report('stopped before it was ready');
    }
  });
}

/** Number of the simulated person who answers the questions of the demo agent. */
const ANSWERING_PHONE = '+12025550111';

/** Returns the lines that show the login. Later starts cannot show the password, because only its hash is stored. */
function logInLines(owner: Stack['demo']['owner']): string {
  if (owner === null) {
    return `
  portal log-in  ${DEMO_EMAIL}
  password       shown at the first start; for a new one: npx callwright admin members reset-link ${DEMO_EMAIL}`;
  }
  return `
  portal log-in  ${owner.email}
  password       ${owner.password} (shown this once)`;
}

function introduction({ runtime, demo }: Stack, folder: string, tookMs: number): string {
  const body = JSON.stringify({ to_phone_number: ANSWERING_PHONE, agent_id: runtime.agent_id });
  const inbound = JSON.stringify({ to: demo.phoneNumber, from: '+12025550123', forwarded_from: demo.phoneNumber });
  return `
Callwright is ready (${(tookMs / 1_000).toFixed(1)} s).

  API            ${runtime.base_url}
  portal         ${runtime.portal_url}
  documentation  ${runtime.base_url}/docs
  audio          ${runtime.stream_url}
  carrier        ${runtime.carrier_url} (simulated)
  Temporal       ${runtime.temporal_address}  ${runtime.temporal_ui_url}
  MongoDB        ${runtime.mongodb_uri}
  webhook inbox  ${runtime.webhook_inbox_url}
  live API key   ${runtime.live_api_key}
  test API key   ${runtime.test_api_key}
  agent          ${runtime.agent_id}${logInLines(demo.owner)}
  data           ${folder} (runtime.json has all of this)

Place a call:
  curl -s -X POST ${runtime.base_url}/outbound_call \\
    -H 'Authorization: Bearer ${runtime.test_api_key}' -H 'Content-Type: application/json' \\
    -d '${body}'

Read its status:
  curl -s '${runtime.base_url}/outbound_call?call_id=CALL_ID' -H 'Authorization: Bearer ${runtime.test_api_key}'

Let a call arrive:
  curl -s -X POST ${runtime.carrier_url}/simulator/inbound -H 'Content-Type: application/json' \\
    -d '${inbound}'

See the webhooks:
  curl -s ${runtime.webhook_inbox_url}

Or on the command line, which finds all of this by itself:
  npx callwright calls create --to ${ANSWERING_PHONE} --agent ${runtime.agent_id}
  npx callwright calls tail CALL_ID

Ctrl-C stops everything.
`;
}
