import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createOutput } from '../../src/cli/output.js';
import { createProgram } from '../../src/cli/program.js';
import { runProgram, type CliProcess } from '../../src/cli/run.js';
import { jsonText, printable } from '../../src/cli/terminal.js';
import { runCli } from '../integration/cli/support/run-cli.js';

const CONTROL_CHARACTERS = /(?![\n\t])[\p{Cc}\p{Cf}]/u;
/** With characters that control a terminal, change the direction of text, or are invisible. */
const HOSTILE = 'Wrong.\u001b]0;owned\u0007 \u009b31m\u007f \u202e\u2066\u200b\u{e0041}';

const CSV = `entry,reason\r\n1,"${HOSTILE}"\r\n`;

let server: Server;
let status: number;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  const error = { success: false, message: HOSTILE, error_code: 'CONFLICT' };
  const list = {
    data: [{ agent_id: 'agent_1', name: HOSTILE, tools: [HOSTILE] }],
    has_more: false,
    [`named ${HOSTILE}`]: HOSTILE,
  };
  server = createServer((request, response) => {
    if (request.headers.accept === 'text/csv') {
      response.writeHead(status, { 'content-type': 'text/csv' }).end(CSV);
      return;
    }
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(status === 200 ? list : error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  env = { CALLWRIGHT_URL: `http://127.0.0.1:${port}`, CALLWRIGHT_API_KEY: 'k' };
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

/** Runs a command in this process, with or without a terminal as its output. @returns its output */
async function run(args: string[], isTTY: boolean): Promise<string> {
  let written = '';
  const write = (text: string) => Boolean((written += text));
  const stdout = { isTTY, write } as NodeJS.WriteStream;
  const cli = { argv: ['node', 'callwright', ...args], env, stdout, stderr: stdout } as unknown as CliProcess;
  await runProgram(createProgram(cli), cli);
  return written;
}

describe('control characters do not reach the terminal', () => {
  it.each([[], ['--json']])('from an error of the service %s', async (...json) => {
    status = 409;
    const { stderr } = await runCli(['agents', 'list', ...json], env);
    expect(stderr).toContain('Wrong.');
    expect(stderr).not.toMatch(CONTROL_CHARACTERS);
    if (json.length > 0) expect(JSON.parse(stderr)).toMatchObject({ message: HOSTILE });
  });

  it.each([[], ['--json']])('from a list of the service %s', async (...json) => {
    status = 200;
    const { stdout } = await runCli(['agents', 'list', ...json], env);
    expect(stdout).toContain('Wrong.');
    expect(stdout).not.toMatch(CONTROL_CHARACTERS);
    if (json.length > 0) expect(JSON.parse(stdout)).toMatchObject({ data: [{ name: HOSTILE }] });
  });

  it('from field names in a response', async () => {
    status = 200;
    const { stdout } = await runCli(['agents', 'get', 'agent_01ARZ3NDEKTSV4RRFFQ69G5FAV'], env);
    expect(stdout).toContain('named');
    expect(stdout).not.toMatch(CONTROL_CHARACTERS);
  });

  it.each(['ledger', 'usage'])('from a CSV, which is complete in files and pipes: %s', async (command) => {
    status = 200;
    const written: Record<string, string> = {};
    for (const isTTY of [true, false]) {
      written[String(isTTY)] = await run([command, '--csv'], isTTY);
    }
    expect(written.true).toContain('Wrong.');
    expect(written.true).not.toMatch(CONTROL_CHARACTERS);
    expect(written.false).toBe(CSV);
  });

  it('from any kind of output of the command line', async () => {
    let written = '';
    const stdout = { write: (text: string) => Boolean((written += text)) } as CliProcess['stdout'];
    const out = createOutput({ stdout }, false);
    await out.record(`Call ${HOSTILE}`, { [HOSTILE]: HOSTILE });
    await out.table([{ a: HOSTILE }], { a: 'A' });
    await out.page({ data: [{ a: { [HOSTILE]: 1 } }], has_more: true }, { a: 'A' });
    out.line({}, HOSTILE);
    expect(written).toContain('Wrong.');
    expect(written).not.toMatch(CONTROL_CHARACTERS);
  });

  it('but the joiners of words and emoji do', () => {
    const name = '\u0645\u06cc\u200c\u062e\u0648\u0627\u0646 \u{1f469}\u200d\u{1f4bb}';
    expect([printable(name), jsonText(name)]).toEqual([name, `"${name}"`]);
  });

  it('from its arguments', async () => {
    expect((await runCli([`--${HOSTILE}`], env)).stderr).not.toMatch(CONTROL_CHARACTERS);
  });
});
