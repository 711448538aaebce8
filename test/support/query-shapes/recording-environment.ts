/** Variables of a process that a test starts, so that it records its queries, too. */
export function recordingEnvironment(): NodeJS.ProcessEnv {
  const { TEST_PRELOAD, TEST_QUERY_SHAPES, TEST_ROOT } = process.env;
  return TEST_PRELOAD === undefined ? {} : { NODE_OPTIONS: TEST_PRELOAD, TEST_QUERY_SHAPES, TEST_ROOT };
}
