'use strict';

const Sequencer = require('@jest/test-sequencer').default;

/** The suites that every engine passes, which take some minutes each. */
const LONGEST = /-contract\.test\.ts$/;

/**
 * Starts the longest test files first, so that no worker is left alone with one at the end. On a fresh clone, jest does not
 * know how long files take.
 */
module.exports = class LongFilesFirst extends Sequencer {
  async sort(tests) {
    const sorted = await super.sort(tests);
    const isLong = ({ path }) => LONGEST.test(path);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
};
