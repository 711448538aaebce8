/**
 * User-Agent of outgoing requests. It is not read from package.json: importing that file would copy it into the build
 * output, where it would be mistaken for the package root.
 */
export const USER_AGENT = 'callwright/0.2.0';
