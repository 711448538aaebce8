/**
 * User-Agent of outgoing requests. Not read from package.json, because importing that would copy it into the build
 * output, where it would be mistaken for the package root.
 */
export const USER_AGENT = 'callwright/0.1.0';
