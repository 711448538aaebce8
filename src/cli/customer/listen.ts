import { ApiError } from '../../sdk/api-error.js';
import { aborted, untilStopped } from '../../dev/processes/stop-signals.js';
import { urlFrom } from '../../kernel/text.js';
import type { Output } from '../output.js';
import { jsonText } from '../terminal.js';
import { CliError, EXIT_USAGE } from '../run.js';
import { useModeOf } from './agents.js';
import { isLoopback, type Service } from './service.js';
import { startWebhookListener, type Received, type WebhookListener } from './webhook-listener.js';
import { keyOfSecret } from './webhook-signature.js';

/** Options of `webhooks listen`, with commander's attribute names. */
export interface ListenOptions {
  port: number;
  forwardTo?: string;
  publicUrl?: string;
  agent?: string;
}

/**
 * Receives completion webhooks on this machine, shows them and forwards them, until stopped. They are the service's
 * real deliveries, with headers and signatures, and are sent again after a failure.
 */
export async function listen(service: Service, out: Output, options: ListenOptions): Promise<void> {
  const { port, forwardTo, publicUrl } = options;
  for (const url of [forwardTo, publicUrl]) {
    if (url !== undefined && !(urlFrom(url) && /^https?:/i.test(url))) {
      throw new CliError(`${url} must be a URL like http://127.0.0.1:3000/hook.`, EXIT_USAGE);
    }
  }
  const { CALLWRIGHT_WEBHOOK_SECRET: secret } = service.env;
  await untilStopped(async (signal) => {
    const listener = await start({
      port,
      ...(forwardTo === undefined ? {} : { forwardTo }),
      ...(publicUrl === undefined ? {} : { acceptedHost: new URL(publicUrl).hostname }),
      ...(secret ? { secret: keyOfSecret(secret) } : {}),
      onReceived: (received) => out.line(received, `${lineOf(received)}\n${bodyOf(received)}`),
    });
    try {
      const webhookUrl = publicUrl ?? listener.url;
      service.note(`Listening for webhooks at ${webhookUrl}. Use it as webhook_url. Press Ctrl-C to stop.`);
      if (publicUrl === undefined && !isLoopback(service.baseUrl)) {
        service.note(
          `${service.baseUrl} must be able to reach it: start a tunnel to ${listener.url} and pass its URL as --public-url.`,
        );
      }
      if (options.agent === undefined) await aborted(signal);
      else await withAgent(service, options.agent, webhookUrl, () => aborted(signal));
    } finally {
      await listener.close();
    }
  });
}

async function start(p: Parameters<typeof startWebhookListener>[0]): Promise<WebhookListener> {
  try {
    return await startWebhookListener(p);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new CliError(`Port ${p.port} is in use. Choose another one with --port.`);
  }
}

/** Sets an agent's webhook URL to this machine while `work` runs, and restores it afterwards. */
async function withAgent(
  service: Service,
  agentId: string,
  webhookUrl: string,
  work: () => Promise<void>,
): Promise<void> {
  await useModeOf(service, agentId);
  const { client, note } = service;
  const params = { agent_id: agentId };
  const { name, mode, webhook_url: before = null } = await client.get('/agents/{agent_id}', { params });
  await client.patch('/agents/{agent_id}', { params, body: { webhook_url: webhookUrl } });
  const calls = mode === 'live' ? 'live and test calls' : 'test calls';
  const instead = before === null ? '' : ` instead of to ${before}`;
  note(`Until this command ends, ${name} sends the webhooks of its ${calls} here${instead}.`);
  try {
    await work();
  } finally {
    await restore();
  }

  async function restore(): Promise<void> {
    try {
      const { webhook_url: now } = await client.get('/agents/{agent_id}', { params });
      // If someone else changed the URL meanwhile, keep the new one.
      if (now !== webhookUrl) return note(`${name} was changed in the meantime and is left unchanged.`);
      await client.patch('/agents/{agent_id}', { params, body: { webhook_url: before } });
      note(before === null ? `${name} has no webhook_url again.` : `${name} sends its webhooks to ${before} again.`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw new CliError(`The webhook_url of ${name} could not be set back to ${before ?? 'null'}: ${error.message}`);
    }
  }
}

function lineOf({ received_at, headers, body, signature, status, duration_ms, error }: Received): string {
  const event = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const facts = [
    received_at.slice(11, 23),
    textOf(event.call_id) || textOf(headers['webhook-id']) || 'unknown event',
    textOf(event.status),
    textOf(event.end_reason),
    ...(signature === undefined ? [] : [`signature ${signature}`]),
    `-> ${status}`,
    ...(duration_ms === undefined ? [] : [`(${duration_ms} ms)`]),
    error ?? '',
  ];
  return facts.filter((fact) => fact !== '').join(' ');
}

function bodyOf({ body }: Received): string {
  return typeof body === 'string' ? body : jsonText(body, 2);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
