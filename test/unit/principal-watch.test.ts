import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiContext } from '../../src/platform/http/context.js';
import type { Principal } from '../../src/identity/access/principal.js';
import type { Route } from '../../src/platform/http/contract/route.js';
import { createPrincipalWatch, type CurrentAccess } from '../../src/identity/access/principal-watch.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';

const EVERY_MS = 50;
const logger = createLogger({ role: 'test', level: 'silent' });
const key = { actor: { kind: 'key', keyId: 'key_1', name: 'k' } } as Principal;
const read = { method: 'get' } as Route;
const contextOf = (type: string) =>
  ({
    response: { is: (asked: string) => asked === type && asked },
    state: { requestId: 'req_1', errorDocs: 'https://calls.test/docs/errors' },
  }) as unknown as ApiContext;
const events = contextOf('text/event-stream');

function stream() {
  const body = new PassThrough();
  let text = '';
  body.on('data', (chunk: Buffer) => (text += chunk.toString()));
  body.on('error', () => undefined);
  return { body, text: () => text };
}

function watchWith(readCurrentAccess: () => Promise<CurrentAccess>, uncheckedAtMostMs = 400) {
  return createPrincipalWatch({ readCurrentAccess, logger, everyMs: EVERY_MS, uncheckedAtMostMs });
}

describe('the watch on the permissions of open streams', () => {
  it('checks a principal once per interval for all its streams, until they close', async () => {
    let checks = 0;
    const watch = watchWith(async () => (checks++, {}));
    const streams = Array.from({ length: 20 }, stream);
    for (const { body } of streams) watch.guard(events, key, read, body);
    await sleep(EVERY_MS * 4);
    expect(checks).toBeGreaterThanOrEqual(1);
    expect(checks).toBeLessThanOrEqual(5);
    expect(watch.size()).toBe(1);
    for (const { body } of streams) body.destroy();
    await sleep(EVERY_MS);
    expect(watch.size()).toBe(0);
    const before = checks;
    await sleep(EVERY_MS * 3);
    expect(checks).toBe(before);
  });

  it('keeps streams open during a short database outage and ends them after a long one', async () => {
    const watch = watchWith(() => Promise.reject(new Error('away')));
    const { body, text } = stream();
    watch.guard(events, key, read, body);
    await sleep(EVERY_MS * 3);
    expect(body.writableEnded).toBe(false);
    await sleep(1_000);
    expect(text()).toMatch(/^event: end\ndata: .*SERVICE_UNAVAILABLE/);
    expect(watch.size()).toBe(0);
  });

  it('ends a stream if a check never completes', async () => {
    const watch = watchWith(() => new Promise(() => undefined));
    const { body, text } = stream();
    watch.guard(events, key, read, body);
    await sleep(1_500);
    expect(text()).toContain('SERVICE_UNAVAILABLE');
  });

  it('ends the event stream of a member who lost the permission, and aborts a file download', async () => {
    const owners = { method: 'get', roles: ['owner'] } as unknown as Route;
    const watch = watchWith(() => Promise.resolve({ role: 'viewer' }));
    const [eventStream, download, allowed] = [stream(), stream(), stream()];
    watch.guard(events, key, owners, eventStream.body);
    watch.guard(contextOf('audio/wav'), key, owners, download.body);
    watch.guard(events, key, read, allowed.body);
    await sleep(EVERY_MS * 4);
    expect(eventStream.text()).toContain('FORBIDDEN');
    expect(download.body.destroyed).toBe(true);
    expect(allowed.body.destroyed).toBe(false);
    allowed.body.destroy();
  });
});
