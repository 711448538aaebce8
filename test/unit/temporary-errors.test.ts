import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { handleErrors } from '../../src/api/errors.js';
import { LedgerBusyError } from '../../src/billing/ledger/ledger.js';
import { CallServiceUnavailable } from '../../src/calls/gateway.js';
import type { RequestState } from '../../src/platform/http/context.js';
import { requestId } from '../../src/platform/http/request-id.js';
import { CONFLICT, retryOnConflict } from '../../src/platform/mongo/optimistic-update.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';

/** Returns the response to a request whose handler does the work. */
async function responseTo(work: () => Promise<unknown>): Promise<Response> {
  const logger = createLogger({ role: 'test', level: 'silent' });
  const app = new Koa<RequestState>();
  app
    .use(requestId(logger, { errorDocs: '', minDeadlineMs: 0 }))
    .use(handleErrors(logger))
    .use(work);
  const server = app.listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    return await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('an error after which trying again is safe', () => {
  it.each<[string, () => Promise<unknown>]>([
    [
      'another writer who always comes first',
      () => retryOnConflict({ name: 'agents', maxAttempts: 2 }, () => Promise.resolve(CONFLICT)),
    ],
    ['a busy ledger', () => Promise.reject(new LedgerBusyError('busy'))],
    ['an unavailable Temporal', () => Promise.reject(new CallServiceUnavailable('unavailable'))],
  ])('becomes a 503 that says when to try again: %s', async (_, work) => {
    const response = await responseTo(work);
    expect({ status: response.status, retryAfter: response.headers.get('retry-after') }).toEqual({
      status: 503,
      retryAfter: '1',
    });
    expect(await response.json()).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE' });
  });

  it('is the only one: any other error becomes a 500', async () => {
    const response = await responseTo(() => Promise.reject(new TypeError('a bug')));
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error_code: 'INTERNAL_ERROR' });
  });
});
