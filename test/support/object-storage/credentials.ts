/** The credentials of the S3 server of the tests. */
export const ACCESS_KEY_ID = 'test-access-key';
export const SECRET_ACCESS_KEY = 'test-secret-key-of-the-tests';
