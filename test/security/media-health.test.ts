import { get } from 'node:http';
import { isFromSameMachine } from '../../src/voice/media/media-http-server.js';
import { openMediaFixture, type MediaFixture } from '../integration/voice/support/media-fixture';

describe('the health check of a media server', () => {
  let media: MediaFixture;
  beforeAll(async () => {
    media = await openMediaFixture();
  });
  afterAll(() => media.close());

  const healthFor = (headers: Record<string, string>) =>
    new Promise<unknown>((resolve, reject) => {
      get({ host: '127.0.0.1', port: media.port, path: '/health', headers }, (response) => {
        let text = '';
        response.on('data', (data) => (text += data)).on('end', () => resolve(JSON.parse(text)));
      }).on('error', reject);
    });

  it('shows the number of calls to the same machine, but not through a proxy', async () => {
    expect(await healthFor({})).toEqual({ status: 'ok', calls: 0 });
    for (const name of ['X-Forwarded-For', 'X-Real-IP', 'Forwarded', 'Via']) {
      expect(await healthFor({ [name]: '203.0.113.5' })).toEqual({ status: 'ok' });
    }
  });

  it.each([
    ['127.0.0.1', true],
    ['::ffff:127.0.0.1', true],
    ['::1', true],
    ['10.0.0.5', false],
    ['203.0.113.5', false],
    ['::ffff:203.0.113.5', false],
    ['2001:db8::127.0.0.1', false],
    [undefined, false],
  ])('regards %s as the same machine: %s', (remoteAddress, isSame) => {
    expect(isFromSameMachine({ headers: {}, remoteAddress })).toBe(isSame);
  });
});
