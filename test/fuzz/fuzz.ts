import { randomBytes } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, type Launched } from '../support/dev-stack.js';
import type { Runtime } from '../../src/dev/runtime-file.js';
import { PARTS, type Part } from './parts.js';
import { installSchemathesis, runPart } from './schemathesis.js';

/** The time limit of the whole run. */
const RUN_WITHIN_MS = 15 * 60_000;
/** The number of login sessions that share the requests, because each session can send only 600 requests per minute. */
const SESSIONS = 8;

const print = (line: string) => void process.stdout.write(`${line}\n`);

/**
 * Starts a separate service and tests every operation of its OpenAPI document.
 * @returns the exit code: 1 when a part found something
 */
export async function fuzz(p: {
  seed: number;
  examples: number;
  /** The names of the parts to run; all parts run if the list is empty. */
  only: readonly string[];
  signal: AbortSignal;
}): Promise<number> {
  const parts = PARTS.filter(({ name }) => p.only.length === 0 || p.only.includes(name));
  if (parts.length === 0)
    throw new Error(`there is no such part; there are ${PARTS.map(({ name }) => name).join(', ')}`);
  const command = await installSchemathesis(process.env);
  const endAt = Date.now() + RUN_WITHIN_MS;
  const paymentSecret = randomBytes(16).toString('hex');
  const folder = await mkdtemp(join(tmpdir(), 'callwright-fuzz-'));
  const stack = await launch({
    env: {
      ...withoutSettings(process.env),
      LOG_LEVEL: 'warn',
      TRUST_PROXY: 'true',
      PAYMENT_WEBHOOK_SECRET: paymentSecret,
      ALLOW_INSECURE_DEVELOPMENT: 'true',
      NODE_OPTIONS: `--require ${join(__dirname, 'loopback-only.cjs')}`,
    },
  });
  const outcomes = [];
  try {
    const runtime = await stack.runtime();
    const sessions = await logIn(stack, runtime);
    print(
      `seed ${p.seed}, up to ${p.examples} examples of each operation, at ${runtime.base_url}; output in ${folder}`,
    );
    for (const part of parts) {
      if (p.signal.aborted) break;
      const outcome = await runPart({
        command,
        part,
        baseUrl: runtime.base_url,
        seed: p.seed,
        examples: Math.max(5, Math.round(p.examples * part.share)),
        withinMs: endAt - Date.now(),
        env: { ...withoutProxies(process.env), ...credentials(part, runtime, sessions, paymentSecret) },
        folder,
        signal: p.signal,
      });
      outcomes.push(outcome);
      await writeFile(join(folder, `${part.name}.log`), outcome.output);
      if (outcome.failed) print(outcome.output);
      const result = outcome.failed ? 'FAILED' : 'nothing found';
      print(
        `${part.name}: ${part.operations.length} operations, ${outcome.cases} cases, ${outcome.seconds.toFixed(0)} s, ${result}`,
      );
    }
  } finally {
    await writeFile(join(folder, 'service.log'), stack.output());
    await stack.destroy();
  }
  const cases = outcomes.reduce((sum, outcome) => sum + outcome.cases, 0);
  const failed = outcomes.filter((outcome) => outcome.failed).length;
  print(`${cases} cases in ${outcomes.length} parts, ${failed === 0 ? 'nothing found' : `${failed} parts failed`}`);
  return failed === 0 && outcomes.length === parts.length ? 0 : 1;
}

function credentials(part: Part, runtime: Runtime, sessions: string, paymentSecret: string): NodeJS.ProcessEnv {
  return {
    FUZZ_BASE_URL: runtime.base_url,
    FUZZ_WHO: part.who,
    FUZZ_KEY: part.mode === 'test' ? runtime.test_api_key : runtime.live_api_key,
    FUZZ_SESSIONS: sessions,
    FUZZ_CARRIER_ACCOUNT: runtime.carrier_account_sid,
    FUZZ_CARRIER_TOKEN: runtime.carrier_auth_token,
    FUZZ_PAYMENT_SECRET: paymentSecret,
  };
}

/**
 * Logs in as the owner of the demo account, several times. The launcher shows the owner's password at its first start.
 */
async function logIn(stack: Launched, { base_url: baseUrl }: Runtime): Promise<string> {
  const [, email, password] = /portal log-in\s+(\S+)\s+password\s+(\S+)/.exec(await introduction(stack)) ?? [];
  const tokens: string[] = [];
  for (let session = 0; session < SESSIONS; session += 1) {
    const answer = await fetch(`${baseUrl}/portal/log-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: baseUrl },
      body: JSON.stringify({ email, password }),
    });
    const token = /(?:^|, )sid=([^;]+)/.exec(answer.headers.get('set-cookie') ?? '')?.[1];
    if (token === undefined) throw new Error(`log-in was answered ${answer.status}`);
    tokens.push(token);
  }
  return tokens.join(' ');
}

/** Waits for the introduction with the password, which the launcher prints shortly after it writes runtime.json. */
async function introduction(stack: Launched): Promise<string> {
  for (let looks = 0; looks < 100 && !stack.output().includes('Ctrl-C'); looks += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return stack.output();
}

/**
 * The variables needed to find and build the embedded servers. The service gets no other variable of this environment.
 */
const KEPT_VARIABLES = /^(PATH|HOME|TMPDIR|CALLWRIGHT_CACHE_DIR|JAVA_\w+|MAVEN_\w+|GO\w+|SSL_CERT_\w+|\w*_PROXY)$/i;

/** Removes the settings of a real service, such as its carrier or its database, from the environment. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.keys(env).flatMap((name) => (KEPT_VARIABLES.test(name) ? [] : [[name, undefined]])));
}

/** Removes the proxy settings: all requests stay on this machine. */
function withoutProxies(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/_proxy$/i.test(name)));
}
