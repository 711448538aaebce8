import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startCarriedService, type CarriedService } from '../../support/carried-service';
import { eventually, type Customer } from '../../support/http/harness';

jest.setTimeout(120_000);

interface CarrierRecord {
  requests: { purpose: string; url: string; status?: number; params: Record<string, string> }[];
  twiml: string[];
  errors: { code: number }[];
}

/** Starts a proxy in front of the API. It answers 502 to the first request of each path that `fails` accepts. */
async function startProxy() {
  const failed = new Set<string>();
  const proxy = {
    url: '',
    target: '',
    fails: (_path: string): boolean => false,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer((incoming, response) => {
    const path = incoming.url ?? '';
    if (proxy.fails(path) && !failed.has(path)) {
      failed.add(path);
      incoming.resume();
      response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad Gateway</html>');
      return;
    }
    const { method, headers } = incoming;
    const passed = forward(`${proxy.target}${path}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return proxy;
}

let proxy: Awaited<ReturnType<typeof startProxy>>;
let carried: CarriedService;
let customer: Customer;
beforeAll(async () => {
  proxy = await startProxy();
  const settings = { PUBLIC_BASE_URL: proxy.url };
  carried = await startCarriedService({ service: settings, carrier: settings });
  proxy.target = carried.service.baseUrl;
  customer = await carried.service.customer();
});
afterAll(async () => {
  await carried.close();
  await proxy.close();
});

async function recordOf(callId: string, isComplete: (record: CarrierRecord) => boolean): Promise<CarrierRecord> {
  return eventually(async () => {
    const binding = await carried.database.carrierBindings.findById(callId).lean();
    if (!binding?.carrierSid.startsWith('CA')) return undefined;
    const record = (await carried.carrierCall(binding.carrierSid)) as unknown as CarrierRecord;
    return isComplete(record) && record;
  });
}

// No media server runs, so every stream of these calls fails at once.
describe('a call whose TwiML is lost on the way to the carrier', () => {
  it('is streamed after the carrier has asked the fallback URL', async () => {
    proxy.fails = (path) => path.endsWith('/twiml');
    const callId = await carried.place(customer, '07');
    const { requests, twiml, errors } = await recordOf(callId, (record) => record.twiml.length > 0);
    expect(errors[0]?.code).toBe(11_200);
    expect(requests.slice(0, 2)).toMatchObject([
      { purpose: 'twiml', status: 502 },
      { purpose: 'fallback', status: 200, params: { ErrorCode: '11200' } },
    ]);
    expect(twiml[0]).toContain('<Connect><Stream');
  });

  it('gets another stream if the TwiML after a lost stream is lost', async () => {
    proxy.fails = (path) => path.endsWith('/after-stream');
    const callId = await carried.place(customer, '07');
    const { requests, twiml } = await recordOf(callId, (record) => record.twiml.length > 1);
    const fallback = requests.find(({ purpose }) => purpose === 'fallback');
    expect(fallback).toMatchObject({ status: 200, params: { ErrorUrl: expect.stringMatching(/\/after-stream$/) } });
    expect(twiml[1]).toContain('<Parameter name="resumption" value="1"/>');
  });
});
