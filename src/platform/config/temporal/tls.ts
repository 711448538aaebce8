import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { TemporalValues } from './variables.js';

/** How to connect to Temporal with TLS, in the terms of its SDK. */
export interface TemporalTls {
  clientCertPair?: { crt: Buffer; key: Buffer };
  serverRootCACertificate?: Buffer;
  serverNameOverride?: string;
}

/** @returns false if the connection has no TLS */
export function temporalTls(values: TemporalValues): TemporalTls | boolean {
  const { TEMPORAL_TLS_CERT: cert, TEMPORAL_TLS_KEY: key, TEMPORAL_TLS_CA: ca } = values;
  const name = values.TEMPORAL_TLS_SERVER_NAME;
  if (!values.TEMPORAL_TLS) return false;
  return {
    ...(cert === undefined || key === undefined
      ? {}
      : { clientCertPair: { crt: Buffer.from(cert), key: Buffer.from(key) } }),
    ...(ca === undefined ? {} : { serverRootCACertificate: Buffer.from(ca) }),
    ...(name === undefined ? {} : { serverNameOverride: name }),
  };
}

const DETAILS = [
  'TEMPORAL_TLS_CERT',
  'TEMPORAL_TLS_KEY',
  'TEMPORAL_TLS_CA',
  'TEMPORAL_TLS_SERVER_NAME',
] as const satisfies readonly (keyof TemporalValues)[];

/** Finds settings that could only fail later, at the first connection. No sentence contains a key. */
export function temporalTlsFaults(values: TemporalValues): string[] {
  const { TEMPORAL_TLS_CERT: cert, TEMPORAL_TLS_KEY: key, TEMPORAL_TLS_CA: ca } = values;
  const given = DETAILS.find((variable) => values[variable] !== undefined);
  if (given !== undefined && !values.TEMPORAL_TLS) return [`${given} needs TEMPORAL_TLS=true.`];
  const faults: string[] = [];
  if (ca !== undefined && certificateOf(ca) === undefined)
    faults.push('TEMPORAL_TLS_CA must be one or more certificates in PEM.');
  if ((cert === undefined) !== (key === undefined))
    return [...faults, 'TEMPORAL_TLS_CERT and TEMPORAL_TLS_KEY belong together: set both.'];
  if (cert === undefined || key === undefined) return faults;
  const [certificate, privateKey] = [certificateOf(cert), privateKeyOf(key)];
  if (certificate === undefined) faults.push('TEMPORAL_TLS_CERT must be a certificate in PEM.');
  if (privateKey === undefined) faults.push('TEMPORAL_TLS_KEY must be a private key in PEM, without a password.');
  if (certificate !== undefined && privateKey !== undefined && !certificate.checkPrivateKey(privateKey))
    faults.push('TEMPORAL_TLS_KEY is not the key of TEMPORAL_TLS_CERT.');
  return faults;
}

const certificateOf = (pem: string) => valueOf(() => new X509Certificate(pem));
const privateKeyOf = (pem: string) => valueOf(() => createPrivateKey(pem));

function valueOf<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
