import { isQuiet, RECOVERED_AFTER_MS } from '../production-shape/hosts/cut-off.js';
import { HOSTS, placesOn } from '../production-shape/hosts/network.js';
import { readOptions } from '../production-shape/options.js';
import { isPrivateRange } from '../../src/platform/config/private-ranges.js';

describe('the production shape on several hosts', () => {
  const place = placesOn(7);

  it('runs each process of a role, and each server, on its own host', () => {
    const names = ['MongoDB', 'Temporal', 'exporter', 'api 1', 'api 2', 'media 1', 'media 2'];
    const workers = [1, 2, 3, 4].map((number) => `worker ${number} of release-1`);
    const commands = [...names, ...workers].map((name) => place(name).at('node', ['main.js']).args.join(' '));
    expect(commands).toEqual(HOSTS.map((host) => `netns exec callwright-shape-7-${host} node main.js`));
  });

  it('has an address in a private network for each', () => {
    const addresses = ['hub', ...HOSTS].map((host) => place(host).address);
    expect(new Set(addresses).size).toBe(1 + HOSTS.length);
    expect(addresses.every((address) => isPrivateRange(`${address}/32`))).toBe(true);
  });

  it('runs the carrier beside the proxy', () => {
    expect(place('simulator')).toEqual({ ...place('hub'), at: expect.any(Function) as unknown });
    expect(place('simulator').at('node', ['main.js'])).toEqual({ file: 'node', args: ['main.js'] });
  });

  it('judges requests only after a host has been back for some time, and before the next is cut off', () => {
    const cuts = [
      { host: 'api-1', from: 100_000, to: 120_000 },
      { host: 'mongodb', from: 200_000, to: 210_000 },
    ] as const;
    const quiet = [99_000, 100_000, 120_000 + RECOVERED_AFTER_MS, 199_999, 205_000, 239_000, 240_000].map((at) =>
      isQuiet(cuts, at),
    );
    expect(quiet).toEqual([false, false, true, true, false, false, true]);
  });

  it('is no deployment and no rotation', () => {
    expect(readOptions(['--hosts', '--short'])).toMatchObject({ hosts: true, embedded: true, owner: undefined });
    expect(() => readOptions(['--hosts', '--rotate'])).toThrow('--hosts goes with neither');
  });
});
