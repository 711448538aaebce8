import type { Mode } from '../../kernel/ids.js';

export interface CallOfAccount {
  callId: string;
  accountId: string;
  mode: Mode;
}
