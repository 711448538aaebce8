import { arePrivateHosts } from './addresses.js';
import type { Environment } from './environment.js';

/** Options of a connection string by which the driver accepts any server. */
const UNVERIFIED = ['tlsInsecure', 'tlsAllowInvalidCertificates', 'tlsAllowInvalidHostnames'];

/**
 * Returns a sentence that says why MongoDB's password would cross a public network unencrypted, or to a server that
 * nothing has identified; undefined if it would not. With `mongodb+srv` the driver uses TLS by default.
 */
export function plainMongodbFault({ MONGODB_URI: uri, ALLOW_PLAIN_MONGODB: allowed }: Environment): string | undefined {
  const [, srv, credentials, hosts = '', options = ''] =
    /^mongodb(\+srv)?:\/\/([^@/?]*@)?([^/?]*)(?:\/[^?]*)?(?:\?(.*))?$/.exec(uri) ?? [];
  if (allowed || credentials === undefined || arePrivateHosts(hosts.split(','))) return undefined;
  const given = new URLSearchParams(options);
  const unverified = UNVERIFIED.find((name) => given.get(name) === 'true');
  if (unverified !== undefined)
    return `MONGODB_URI must not have ${unverified}=true on a public network: anybody could pretend to be the database. Add tlsCAFile=<file> if its certificate is of a private authority.`;
  const tls = given.get('tls') ?? given.get('ssl');
  if (tls === 'true' || (srv !== undefined && tls === null)) return undefined;
  return (
    'MONGODB_URI would send its password unencrypted over a public network: add tls=true, or set ' +
    'ALLOW_PLAIN_MONGODB=true if the connection is encrypted in another way.'
  );
}

/** Whether Temporal is on a host outside this machine and private networks, and the connection has no TLS. */
export function isTemporalPlain({ TEMPORAL_ADDRESS: address, TEMPORAL_TLS: tls }: Environment): boolean {
  return !tls && !arePrivateHosts([address]);
}
