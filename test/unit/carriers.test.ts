import { openApiDocument } from '../../src/api/openapi.js';
import { routes } from '../../src/api/routes.js';
import { parseConfig } from '../../src/platform/config/config.js';
import type { Route } from '../../src/platform/http/contract/route.js';
import { CARRIERS } from '../../src/telephony/carrier-list.js';

const document = openApiDocument('https://calls.test');
const all: Readonly<Record<string, Route>> = routes;

describe.each(Object.entries(CARRIERS))('the API of the carrier %s', (kind, create) => {
  const { carriers, publicBaseUrl, streamUrl } = parseConfig({ NODE_ENV: 'test' });
  const { api } = create({ account: { ...carriers.live, kind }, publicBaseUrl, streamUrl }).contract;

  it('is part of the table of all routes', () => {
    const own = Object.entries({ ...api.inbound, ...api.callbacks });
    expect(own.length).toBeGreaterThan(0);
    for (const [operation, route] of own) expect(all[operation]).toBe(route);
  });

  it('is described with the authentication of the carrier', () => {
    expect(document.components?.securitySchemes).toMatchObject(api.securitySchemes);
    for (const { method, path } of Object.values({ ...api.inbound, ...api.callbacks })) {
      const { security } = (document.paths as Record<string, Record<string, { security: object[] }>>)[path]![method]!;
      for (const name of Object.keys(api.securitySchemes)) expect(security).toContainEqual({ [name]: [] });
    }
  });
});

describe('the carriers of the configuration', () => {
  it('say whether they are simulated, whatever their names are', () => {
    const twilio = {
      NODE_ENV: 'test',
      ALLOW_INSECURE_DEVELOPMENT: 'true',
      ALLOW_DEMO_ENGINE_ON_LIVE_CALLS: 'true',
      CARRIER: 'twilio',
      CARRIER_FROM_NUMBER: '+12025550199',
      TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
      TWILIO_AUTH_TOKEN: 'f'.repeat(32),
    };
    const simulated = ({ carriers: { live, test } }: ReturnType<typeof parseConfig>) => [
      live.isSimulated,
      test.isSimulated,
    ];
    expect(simulated(parseConfig({ NODE_ENV: 'test' }))).toEqual([true, true]);
    expect(simulated(parseConfig(twilio))).toEqual([false, true]);
  });
});
