/**
 * Version of this release. It is not read from package.json: importing that file would copy it into the build output,
 * where it would be mistaken for the package root.
 */
export const VERSION = '0.3.0';
