import { arePrivateHosts } from './addresses.js';
import type { Environment } from './environment.js';

/**
 * Explains in a sentence why MongoDB's password would cross a public network unencrypted; undefined if it would not.
 * With `mongodb+srv` the driver uses TLS by default.
 */
export function plainMongodbFault({ MONGODB_URI: uri, ALLOW_PLAIN_MONGODB: allowed }: Environment): string | undefined {
  const [, srv, credentials, hosts = '', options = ''] =
    /^mongodb(\+srv)?:\/\/([^@/?]*@)?([^/?]*)(?:\/[^?]*)?(?:\?(.*))?$/.exec(uri) ?? [];
  if (allowed || credentials === undefined || arePrivateHosts(hosts.split(','))) return undefined;
  const given = new URLSearchParams(options);
  const tls = given.get('tls') ?? given.get('ssl');
  if (tls === 'true' || (srv !== undefined && tls === null)) return undefined;
  return (
    'MONGODB_URI would send its password over a public network in clear: add tls=true to it, or set ' +
    'ALLOW_PLAIN_MONGODB=true where something else encrypts the way.'
  );
}

/** Whether Temporal is reached without TLS on a host that is neither this machine nor in a private network. */
export function isTemporalPlain({ TEMPORAL_ADDRESS: address, TEMPORAL_TLS: tls }: Environment): boolean {
  return !tls && !arePrivateHosts([address]);
}
