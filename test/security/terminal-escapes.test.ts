import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runCli } from '../cli/support/run-cli.js';

const COMMANDS = /[^\P{Cc}\n\t]/u;
const HOSTILE = 'Wrong.\u001b]0;owned\u0007 \u009b31m\u007f';

let server: Server;
let status: number;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  const error = { success: false, message: HOSTILE, error_code: 'CONFLICT' };
  const list = { data: [{ agent_id: 'agent_1', name: HOSTILE, tools: [HOSTILE] }], has_more: false };
  server = createServer((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(status === 200 ? list : error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  env = { CALLWRIGHT_URL: `http://127.0.0.1:${port}`, CALLWRIGHT_API_KEY: 'k' };
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

describe('the terminal is never commanded', () => {
  it.each([[], ['--json']])('by an error of the service %s', async (...json) => {
    status = 409;
    const { stderr } = await runCli(['agents', 'list', ...json], env);
    expect(stderr).toContain('Wrong.');
    expect(stderr).not.toMatch(COMMANDS);
    if (json.length > 0) expect(JSON.parse(stderr)).toMatchObject({ message: HOSTILE });
  });

  it.each([[], ['--json']])('by what the service lists %s', async (...json) => {
    status = 200;
    const { stdout } = await runCli(['agents', 'list', ...json], env);
    expect(stdout).toContain('Wrong.');
    expect(stdout).not.toMatch(COMMANDS);
    if (json.length > 0) expect(JSON.parse(stdout)).toMatchObject({ data: [{ name: HOSTILE }] });
  });

  it('by its own arguments', async () => {
    expect((await runCli([`--${HOSTILE}`], env)).stderr).not.toMatch(COMMANDS);
  });
});
