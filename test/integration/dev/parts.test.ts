import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { buildOnce } from '../../../src/dev/servers/build-once.js';
import { clearDataFolder } from '../../../src/dev/data-folder.js';
import { createPorts } from '../../../src/dev/processes/free-port.js';
import { takeWantedPort } from '../../../src/dev/processes/wanted-port.js';
import { takeLock } from '../../../src/dev/processes/lock.js';
import { formatLogLine } from '../../../src/dev/processes/log-line.js';
import { startMediaProxy } from '../../../src/dev/media-proxy.js';
import { runCommand } from '../../../src/dev/processes/run-command.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'callwright-test-parts-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('a lock', () => {
  it('is held by one holder at a time, and free again after its release', async () => {
    const file = join(folder, 'lock');
    const first = await takeLock(file);
    await expect(takeLock(file)).resolves.toEqual({ held: false, byPid: process.pid });
    if (first.held) await first.release();
    await expect(takeLock(file)).resolves.toMatchObject({ held: true });
  });

  it.each([
    ['a dead process', '999999999 1\n'],
    ['another process with our pid', `${process.pid} 1\n`],
    ['an unknown process', ''],
  ])('is taken over when %s left it behind', async (_, content) => {
    const file = join(folder, 'lock');
    await writeFile(file, content);
    await expect(takeLock(file)).resolves.toMatchObject({ held: true });
    await expect(readdir(folder)).resolves.toEqual(['lock']);
  });

  it('is taken over by exactly one of many processes when it was left behind', async () => {
    for (let round = 1; round <= 30; round += 1) {
      const file = join(folder, `lock ${round}`);
      await writeFile(file, '999999999 1\n');
      const attempts = await Promise.all(Array.from({ length: 20 }, () => takeLock(file)));
      expect({ round, holders: attempts.filter(({ held }) => held).length }).toEqual({ round, holders: 1 });
    }
  });
});

describe('a build', () => {
  const report = () => undefined;

  it('runs once for concurrent requests', async () => {
    let builds = 0;
    const build = async (outputFolder: string) => {
      builds += 1;
      await writeFile(join(outputFolder, 'program'), '');
    };
    const target = join(folder, 'built');
    const requests = Array.from({ length: 5 }, () => buildOnce({ folder: target, what: 'it', report, build }));
    await expect(Promise.all(requests)).resolves.toEqual(Array.from({ length: 5 }, () => target));
    expect(builds).toBe(1);
    await expect(readdir(folder)).resolves.toEqual(['built']);
  });

  it('leaves nothing when it fails, and the next one may succeed', async () => {
    const target = join(folder, 'built');
    const build = () => Promise.reject(new Error('no network'));
    await expect(buildOnce({ folder: target, what: 'it', report, build })).rejects.toThrow('no network');
    await expect(readdir(folder)).resolves.toEqual([]);
    await buildOnce({ folder: target, what: 'it', report, build: () => Promise.resolve() });
    await expect(readdir(folder)).resolves.toEqual(['built']);
  });
});

describe('a long command', () => {
  const common = { cwd: tmpdir(), env: process.env, file: process.execPath, what: 'waiting' };

  it('reports every few seconds that it runs', async () => {
    const lines: string[] = [];
    const args = ['-e', 'setTimeout(() => console.log("done"), 6000)'];
    const report = (line: string) => lines.push(line);
    await expect(runCommand({ ...common, args, report, usually: 'usually 6 s', timeoutMs: 60_000 })).resolves.toBe(
      'done\n',
    );
    expect(lines[0]).toMatch(/^waiting, \d+ s so far, usually 6 s$/);
  });

  it('is ended with its child processes on a timeout or an abort', async () => {
    const args = ['-e', 'require("node:child_process").spawnSync("sleep", ["600"])'];
    const report = () => undefined;
    await expect(runCommand({ ...common, args, report, timeoutMs: 200 })).rejects.toThrow('was ended');
    const signal = AbortSignal.timeout(200);
    await expect(runCommand({ ...common, args, report, signal, timeoutMs: 60_000 })).rejects.toThrow('was stopped');
  });
});

describe('ports', () => {
  it('are the requested ones if they are free, otherwise others', async () => {
    const env = { ...process.env, CALLWRIGHT_CACHE_DIR: folder };
    const [one, other] = [createPorts(env), createPorts(env)];
    const port = await one.take();
    expect(await other.take(port)).not.toBe(port);
    await one.release();
    expect(await other.take(port)).toBe(port);
    await other.release();
  });
});

describe('the port of a part', () => {
  const part = 'the API';

  /** Occupies a port and takes it for the API, in an environment with these variables. */
  async function takeOccupied(variables: NodeJS.ProcessEnv) {
    const env = { ...process.env, CALLWRIGHT_CACHE_DIR: folder };
    const [one, ports] = [createPorts(env), createPorts(env)];
    const reported: string[] = [];
    const report = (line: string) => void reported.push(line);
    const wanted = await one.take();
    const taking = takeWantedPort({ ports, env: variables, report, part, wanted, variable: 'API_PORT' });
    const port = await taking.catch((error: Error) => error.message);
    await Promise.all([one.release(), ports.release()]);
    return { wanted, port, reported };
  }

  it('is another one, which is announced, if the default is taken', async () => {
    const { wanted, port, reported } = await takeOccupied({});
    expect(port).not.toBe(wanted);
    expect(reported).toEqual([`port ${wanted} is in use, so the API uses port ${port} (API_PORT sets it)`]);
  });

  it('is an error that names the variable if it was set and is taken', async () => {
    const { wanted, port, reported } = await takeOccupied({ API_PORT: '8080' });
    expect(port).toMatch(new RegExp(`^API_PORT is ${wanted}, but another process uses this port`));
    expect(reported).toEqual([]);
  });
});

describe('the media proxy', () => {
  it('shares connections fairly among the processes, skips a dead one, and ends with its connections', async () => {
    const media = await Promise.all(['a', 'b'].map(textServer));
    const ports = [...media.map(portOf), await unusedPort()];
    const port = await unusedPort();
    const proxy = await startMediaProxy({ host: '127.0.0.1', port, ports });
    const received: string[] = [];
    for (let index = 0; index < 6; index += 1) received.push(await readAll(port));
    expect(received).toHaveLength(6);
    expect(received.filter((text) => text === 'a').length).toBeGreaterThanOrEqual(2);
    expect(received.filter((text) => text === 'b').length).toBeGreaterThanOrEqual(2);
    await proxy.close();
    for (const server of media) server.close();
  });

  it('drops the connections of a media process that died, and sends new ones to the other', async () => {
    const held: Socket[] = [];
    const dying = createServer((socket) => held.push(socket));
    await new Promise<void>((resolve) => dying.listen(0, '127.0.0.1', resolve));
    const living = await textServer('b');
    const port = await unusedPort();
    const proxy = await startMediaProxy({ host: '127.0.0.1', port, ports: [portOf(living), portOf(dying)] });
    const carried = connect(port, '127.0.0.1');
    const broken = once(carried, 'close');
    await once(dying, 'connection');
    for (const socket of held) socket.destroy();
    dying.close();
    await broken;
    for (let index = 0; index < 4; index += 1) expect(await readAll(port)).toBe('b');
    await proxy.close();
    living.close();
  });
});

describe('reset', () => {
  it('removes the files of a deployment and nothing else', async () => {
    await mkdir(join(folder, 'mongodb'));
    for (const name of ['mongodb/data.mv', 'temporal.db', 'secrets.json', 'letter.txt']) {
      await writeFile(join(folder, name), '');
    }
    await clearDataFolder(folder);
    await expect(readdir(folder)).resolves.toEqual(['letter.txt']);
  });
});

describe('a log line', () => {
  it('shows the process, the time and the message', () => {
    const line = JSON.stringify({
      level: 40,
      time: '2026-11-21T10:00:00.000Z',
      role: 'api',
      msg: 'slow',
      callId: 'call_1',
    });
    expect(formatLogLine('api', line)).toBe('api       | 10:00:00.000 WARN slow callId=call_1');
    expect(formatLogLine('worker', 'no JSON')).toBe('worker    | no JSON');
  });
});

async function textServer(text: string): Promise<Server> {
  const server = createServer((socket) => socket.end(text));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function unusedPort(): Promise<number> {
  const server = await textServer('');
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function readAll(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(socket, 'close');
  return text;
}
