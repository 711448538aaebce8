import type { Ports } from './free-port.js';

/**
 * Takes the port of a part of the service. Without a variable that names the port, another free one does as well, and is
 * announced.
 * @param p.variable the environment variable that sets the port, if there is one
 * @throws Error if the variable names a port that is taken
 */
export async function takeWantedPort(p: {
  ports: Ports;
  env: NodeJS.ProcessEnv;
  report: (line: string) => void;
  part: string;
  wanted: number;
  variable?: string;
}): Promise<number> {
  const { ports, env, part, wanted, variable } = p;
  const port = await ports.take(wanted);
  if (port === wanted || wanted === 0) return port;
  if (variable !== undefined && env[variable]) {
    throw new Error(
      `${variable} is ${wanted}, but another process uses this port. Set another port, or unset ${variable} to use any free one.`,
    );
  }
  const remedy = variable === undefined ? '' : ` (${variable} sets it)`;
  p.report(`port ${wanted} is in use, so ${part} uses port ${port}${remedy}`);
  return port;
}
