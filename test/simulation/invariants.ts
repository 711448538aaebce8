import { HOLD_WINDOW_SECONDS } from '../../src/kernel/hold-windows.js';
import { createLedgerOn, type LedgerAuditStep } from '../../src/billing/ledger/ledger.js';
import { secondsTouched } from '../../src/kernel/money.js';
import type { LedgerEntryDocument, LedgerMarker } from '../../src/billing/ledger/model.js';
import { sessionOn, type Execute, type LedgerCells } from '../support/store/memory-ledger-storage.js';
import { LEDGER_ACCOUNT_ID, numberOfKey, rateOfKey, type CallFacts } from './facts.js';

const UPDATE = 'updateAccount decide';

/** Records violations of the rules that must hold in every schedule: I1 to I5 of the ledger's proof. */
export function createInvariants(
  cells: LedgerCells,
  limits: { dailySpendCapMicros: number | undefined; facts: Pick<CallFacts, 'rates'> },
) {
  const violations: string[] = [];
  const answers = new Map<string, string>();
  const applied = new Set<string>();
  let paidMicros = 0;
  let isSpoiled = false;
  const violated = (what: string) => {
    if (violations.length < 20) violations.push(what);
  };

  /** I1: in every state of the account, the sums agree, and no amount leaves its range. */
  function checkStep(): void {
    const account = cells.accounts.get(LEDGER_ACCOUNT_ID);
    if (!account) return;
    const { availableMicros, heldMicros, creditedMicros, billedMicros, spentMicros } = account;
    if (creditedMicros - billedMicros !== availableMicros + heldMicros)
      violated('credited - billed = available + held');
    if (availableMicros < 0 || heldMicros < 0 || billedMicros < 0 || spentMicros < 0) violated('a figure is negative');
    if (spentMicros > (limits.dailySpendCapMicros ?? Infinity)) violated('more is spent in a day than allowed');
    if (account.markerCount !== Object.keys(account.markers).length) violated('markers are counted wrongly');
  }

  /** I2: each operation is applied at most once. */
  function watch(execute: Execute): Execute {
    return (name, key, operation) =>
      execute(name, key, () => {
        const result = operation();
        // An update that reads returns the markers if it was applied, and null otherwise.
        if (name === UPDATE && result !== false && result !== null) {
          for (const each of key.split(' ')) {
            if (applied.has(each)) violated(`${each} is applied twice`);
            applied.add(each);
            checkHold(each);
          }
        }
        return result;
      });
  }

  function checkHold(key: string): void {
    const account = cells.accounts.get(LEDGER_ACCOUNT_ID);
    const marker = account?.markers[key];
    if (!account || marker?.type !== 'hold') return;
    const isFirst = key.endsWith('~0');
    if (isFirst && account.frozen && marker.amountMicros) violated('a frozen account starts a call');
    if (!isFirst && marker.refusal === 'ACCOUNT_FROZEN') violated('a freeze stops a call that runs');
    checkPrice(key, marker, account.availableMicros);
  }

  /**
   * Checks a hold: it covers whole seconds at its call's price. The first hold covers a minute and is rejected only if
   * the price of a minute is not available.
   */
  function checkPrice(key: string, marker: LedgerMarker, leftMicros: number): void {
    const rate = rateOfKey(limits.facts, key);
    const { amountMicros = 0, microsPerSecond, refusal } = marker;
    const minute = (HOLD_WINDOW_SECONDS[0] ?? 0) * rate;
    if (!marker.void && microsPerSecond !== rate) violated(`${key} carries the price ${microsPerSecond}`);
    if (amountMicros % rate !== 0) violated(`${key} holds parts of a second`);
    if (!key.endsWith('~0')) return;
    if (amountMicros !== 0 && amountMicros !== minute) violated(`${key} holds ${amountMicros}, not a minute`);
    if (refusal === 'INSUFFICIENT_BALANCE' && leftMicros >= minute) violated(`${key} is refused an affordable minute`);
  }

  /** I3: a repeated request gets the same result as the first one. */
  function answered(name: string, answer: unknown): void {
    if (!/^(hold|settle|top-up|correct)/.test(name)) return;
    const text = JSON.stringify(answer);
    const known = answers.get(name);
    if (known === undefined) answers.set(name, text);
    else if (known !== text) violated(`two answers to ${name}: ${known} and ${text}`);
  }

  /** Alters a checkpoint, as a fault of the database may. Audits that trust it may then fail, but not one of all entries. */
  function spoilCheckpoint(): void {
    const stored = cells.checkpoints.get(LEDGER_ACCOUNT_ID);
    if (stored === undefined || stored.counting) return;
    cells.checkpoints.set(LEDGER_ACCOUNT_ID, { ...stored, creditedMicros: stored.creditedMicros + 1 });
    isSpoiled = true;
  }

  /** The account always matches its operations. */
  function checkAudit(audit: LedgerAuditStep): void {
    if (audit === 'unfinished' || audit.balanced) return;
    if (audit.confirmed) violated('an audit of all entries fails');
    else if (!isSpoiled) violated('an audit since a checkpoint fails');
  }

  /** @param isSame whether a recount has found the sums of the checkpoint */
  function checkRecount(isSame: boolean): void {
    if (!isSame && !isSpoiled) violated('a recount fails');
  }

  /** Checks the end of a run: no money is held, lost or created, and the rows match the operations exactly. */
  async function checkEnd(): Promise<void> {
    const quietLedger = createLedgerOn({
      consistently: (work) => work(sessionOn(cells, async (_name, _key, operation) => operation())),
    });
    if (!(await quietLedger.audit(LEDGER_ACCOUNT_ID)).balanced) violated('the audit fails');
    checkAudit(await quietLedger.auditNew(LEDGER_ACCOUNT_ID));
    checkAudit(await quietLedger.auditAgain(LEDGER_ACCOUNT_ID));
    if (cells.checkpoints.get(LEDGER_ACCOUNT_ID)?.counting) violated('an audit of all entries does not end');
    await quietLedger.sweep(LEDGER_ACCOUNT_ID);
    if (!(await quietLedger.audit(LEDGER_ACCOUNT_ID)).balanced) violated('the audit of the rows alone fails');
    const { heldMicros, creditedMicros } = await quietLedger.balance(LEDGER_ACCOUNT_ID);
    if (heldMicros !== 0) violated(`${heldMicros} micro-USD stay held`);
    if (creditedMicros !== paidMicros) violated('credited is not what was paid in');
    for (const key of applied) if (!cells.entries.has(key)) violated(`${key} has no row`);
    for (const key of cells.entries.keys()) if (!applied.has(key)) violated(`${key} has a row and was not applied`);
    for (const entry of cells.entries.values()) if (entry.type === 'settlement') checkCall(entry);
    for (const [name, answer] of answers) checkHeldSeconds(name, answer);
  }

  /**
   * Checks the held seconds in a result, by which the carrier's time limit is set, against the money held for the call.
   */
  function checkHeldSeconds(name: string, answer: string): void {
    const [, callId, last] = /^hold (\S+) (\d+)$/.exec(name) ?? [];
    if (callId === undefined) return;
    let heldMicros = 0;
    for (let window = 0; window <= Number(last); window++) {
      heldMicros += cells.entries.get(`H${callId}~${window}`)?.amountMicros ?? 0;
    }
    const { heldSeconds } = JSON.parse(answer) as { heldSeconds: number };
    if (heldSeconds * rateOfKey(limits.facts, `H${callId}`) !== heldMicros) {
      violated(`${callId} is told of ${heldSeconds} s, and holds ${heldMicros}`);
    }
  }

  /**
   * I4: a settlement covers the money held for all windows of its call, and bills at most this money. A window that
   * holds less than its full price is the call's last.
   */
  function checkCall({ _id: key, callId, billedSeconds = 0, heldMicros, billedMicros = 0 }: LedgerEntryDocument): void {
    const rate = rateOfKey(limits.facts, key);
    let held = 0;
    let isClosed = false;
    HOLD_WINDOW_SECONDS.forEach((full, window) => {
      const { amountMicros = 0 } = cells.entries.get(`H${callId}~${window}`) ?? {};
      if (isClosed && amountMicros > 0) violated(`${callId} holds window ${window} after its last`);
      held += amountMicros;
      if (amountMicros < full * rate) isClosed = true;
    });
    if (held !== heldMicros) violated(`${callId} holds ${held} and is settled for ${heldMicros}`);
    if (billedMicros !== Math.min(billedSeconds * rate, held)) violated(`${callId} is billed ${billedMicros}`);
    const settled = answers.get(`settle ${callId}`);
    if (settled !== JSON.stringify({ billedSeconds: billedMicros / rate, billedMicros, heldMicros })) {
      violated(`${callId} was answered otherwise than it was settled`);
    }
    checkCorrections(callId ?? '', billedMicros, rate);
  }

  /**
   * Checks that corrections remove a second from the bill when, and only when, all of the second's money has been
   * returned.
   */
  function checkCorrections(callId: string, billedMicros: number, rate: number): void {
    let leftMicros = billedMicros;
    let leftSeconds = billedMicros / rate;
    for (const { _id: key, type, amountMicros = 0, creditedSeconds = 0 } of cells.entries.values()) {
      if (type !== 'correction' || key !== `C${callId}~${numberOfKey(key)}`) continue;
      leftMicros -= amountMicros;
      leftSeconds -= creditedSeconds;
    }
    if (leftSeconds !== secondsTouched(leftMicros, rate)) violated(`${callId} is corrected to ${leftSeconds} s`);
  }

  return {
    violations,
    violated,
    checkStep,
    watch,
    answered,
    spoilCheckpoint,
    checkAudit,
    checkRecount,
    checkEnd,
    /** Adds a customer's payment to the expected sum, once. */
    paid(micros: number): void {
      paidMicros += micros;
    },
  };
}
