import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runAdmin, runCli } from '../integration/cli/support/run-cli.js';

const KEY = 'sk_live_of-a-developer-who-cloned-a-repository';
const ENV = { CALLWRIGHT_API_KEY: KEY };

let folder: string;
let runtime: string;
let listener: Server;
let port: number;
let requests: number;
beforeAll(async () => {
  listener = createServer((_request, response) => {
    requests += 1;
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[],"has_more":false}');
  });
  listener.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => listener.listen(0, '0.0.0.0', resolve));
  ({ port } = listener.address() as AddressInfo);
});
afterAll(() => new Promise((resolve) => listener.close(resolve)));

let connections: number;
beforeEach(async () => {
  [requests, connections] = [0, 0];
  folder = await mkdtemp(join(tmpdir(), 'callwright-cloned-'));
  runtime = join(folder, '.callwright', 'runtime.json');
  await mkdir(join(folder, '.callwright'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const list = (env: NodeJS.ProcessEnv) => runCli(['agents', 'list'], env, { cwd: folder });

describe('a runtime.json in the current folder', () => {
  // The address 0.0.0.0 reaches the listener, although it is not a loopback address.
  it.each(['http://0.0.0.0:PORT', 'http://127.0.0.1@0.0.0.0:PORT', 'http://127.0.0.1.0.0.0.0:PORT'])(
    'sends no key to %s',
    async (address) => {
      await writeFile(runtime, JSON.stringify({ base_url: address.replace('PORT', String(port)) }), { mode: 0o600 });
      const { code, stderr } = await list(ENV);
      expect({ code, requests }).toEqual({ code: 2, requests: 0 });
      expect(stderr).toMatch(/base_url in .* is not on this machine.*CALLWRIGHT_URL/);
    },
  );

  it('cannot name a database on another machine for admin commands', async () => {
    for (const file of [
      { mongodb_uri: `mongodb://0.0.0.0:${port}/x` },
      { mongodb_uri: `mongodb://127.0.0.1:2/x?proxyHost=0.0.0.0&proxyPort=${port}` },
      { mongodb_uri: 'mongodb+srv://example.com/x' },
    ]) {
      await writeFile(runtime, JSON.stringify(file), { mode: 0o600 });
      const { code, stderr } = await runAdmin(['accounts', 'list'], {}, folder);
      expect({ code, connections }).toEqual({ code: 2, connections: 0 });
      expect(stderr).toMatch(/mongodb_uri in .* is not on this machine.*MONGODB_URI/);
    }
  });

  it.each([
    ['temporal_address', 'temporal.example.com:7233', 'TEMPORAL_ADDRESS'],
    ['base_url', 'https://links.example.com', 'PUBLIC_BASE_URL'],
  ])('cannot name a %s on another machine for admin commands', async (name, address, variable) => {
    await writeFile(runtime, JSON.stringify({ mongodb_uri: 'mongodb://127.0.0.1:2/x', [name]: address }), {
      mode: 0o600,
    });
    const { code, stderr } = await runAdmin(['accounts', 'list'], {}, folder);
    expect(code).toBe(2);
    expect(stderr).toContain(variable);
  });

  it('that other users can write is not used', async () => {
    await writeFile(runtime, JSON.stringify({ base_url: `http://127.0.0.1:${port}` }));
    await chmod(runtime, 0o666);
    const { code, stderr } = await list(ENV);
    expect({ code, requests }).toEqual({ code: 2, requests: 0 });
    expect(stderr).toContain('chmod 600');
  });

  it('is used with an address of this machine', async () => {
    await writeFile(runtime, JSON.stringify({ base_url: `http://127.0.0.1:${port}` }), { mode: 0o600 });
    expect(await list(ENV)).toMatchObject({ code: 0 });
    expect(requests).toBe(1);
  });

  it('is ignored when the address is set explicitly', async () => {
    await writeFile(runtime, JSON.stringify({ base_url: 'http://example.com' }), { mode: 0o666 });
    expect(await list({ ...ENV, CALLWRIGHT_URL: `http://127.0.0.1:${port}` })).toMatchObject({ code: 0 });
  });
});
