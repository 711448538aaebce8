import type { FindOptions } from '../../../src/dev/servers/find-options.js';
import { buildGoProgram, type GoProgram } from '../../../src/dev/servers/go-program.js';

/** Builds a server of the full form. @returns the path of its executable */
export function buildGoServer(
  server: Pick<GoProgram, 'label' | 'name' | 'version' | 'module'>,
  options: FindOptions,
): Promise<string> {
  const program: GoProgram = {
    ...server,
    what: `${server.label} ${server.version}`,
    usually: 'usually 3 minutes on first run',
    advice: 'Install Go, or run the short form, which needs no such server.',
    timeoutMs: 1_800_000,
  };
  return buildGoProgram(program, options);
}
