/**
 * How other servers see the service. Written out, not read from package.json: importing that would copy it into the build,
 * where it would be taken for the package's root.
 */
export const USER_AGENT = 'callwright/0.1.0';
