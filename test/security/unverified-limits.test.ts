import { expectError, startService, type Service } from '../support/http/harness.js';
import { createBrowser } from '../support/http/portal-support.js';
import { startMailServer } from '../support/mail-server.js';

let mail: Awaited<ReturnType<typeof startMailServer>>;
let service: Service;
beforeAll(async () => {
  mail = await startMailServer();
  service = await startService({ env: mail.env });
}, 60_000);
afterAll(async () => {
  await service.close();
  await mail.close();
});

it('an unverified account has one call at a time: further ones are rejected with 429', async () => {
  const browser = createBrowser(service);
  await browser.signUp();
  const { json } = await browser.post('/api_keys', { name: 'k' });
  const place = () => service.place(String(json['secret']), { to_phone_number: '+12025550111', instruction: 'Hello.' });
  const responses = await Promise.all([place(), place(), place()]);
  const taken = responses.filter(({ status }) => status === 200);
  expect(taken).toHaveLength(1);
  for (const response of responses) if (response !== taken[0]) expectError(response, 429, 'CONCURRENCY_LIMIT_EXCEEDED');
  expectError(await place(), 429, 'CONCURRENCY_LIMIT_EXCEEDED');
});
