import type { Course } from '../carrier/protocol.js';

/** The calls of a load: answered at once, and over after a second. The length changes only how many are open. */
export const COURSE: Course = { answerMs: 100, talkMs: 1_000 };
