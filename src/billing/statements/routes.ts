import { pageSize } from '../../platform/http/contract/list.js';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { csvOf } from './csv.js';
import {
  amountsView,
  LEDGER_COLUMNS,
  ledgerEntryView,
  ledgerEntryViews,
  USAGE_COLUMNS,
  usageTotal,
  usageView,
} from './schemas.js';
import type { statementRoutes } from '../contract.js';
import { ServiceError } from '../../kernel/errors.js';
import { invalidParam } from '../../kernel/invalid-request.js';
import { ledgerAccountId, type Mode } from '../../kernel/ids.js';
import { usagePeriod } from './statement.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Statements } from './statements.js';
import type { ApiContext } from '../../platform/http/context.js';
import { deadlineOf, serviceUnavailable, withDeadline } from '../../platform/http/deadline.js';
import { wantsCsv } from '../../platform/http/routing/csv-format.js';
import { inSteps } from '../../platform/http/routing/export-steps.js';
import { createStepLimit } from '../../platform/http/routing/step-limit.js';
import { content, type Content } from '../../platform/http/routing/response.js';
import type { Handlers } from '../../platform/http/routing/handlers.js';
import type { Cursors } from '../../platform/http/lists.js';

/** Summing up a year of a busy account may take longer than the usual request timeout. */
const USAGE_TIMEOUT_MS = 15_000;

/** Maximum time of a usage report with its waits for the reports and exports of others. Our clients wait for 30 s. */
const USAGE_TOTAL_TIMEOUT_MS = 28_000;

/** Time in which an export must begin, without its waits for others. */
const CSV_START_TIMEOUT_MS = 1_900;

/** Maximum duration of an export. A client that reads slowly must not keep a database cursor open for longer. */
const CSV_TIMEOUT_MS = 120_000;

const CURRENCY = 'USD';
const CSV_TYPE = 'text/csv; charset=utf-8; header=present';
type CsvResponse = Content<typeof CSV_TYPE, Readable>;

/** The account and mode of a statement. */
export interface StatementOwner {
  account: { _id: string };
  mode: Mode;
}

export interface StatementDeps {
  cursors: Cursors;
  ledger: Ledger;
  statements: Statements;
}

/**
 * Creates the handlers of GET /balance, /ledger and /usage. They cover the requesting account in the mode of its key.
 */
export function createStatementHandlers(
  deps: StatementDeps,
): Handlers<typeof statementRoutes, { keyOrSession: StatementOwner }> {
  const { ledger, statements, cursors } = deps;

  return {
    async readBalance({ ctx, principal: { account, mode } }) {
      const balance = await withDeadline(deadlineOf(ctx), ledger.balance(ledgerAccountId(account._id, mode)));
      return { mode, currency: CURRENCY, ...amountsView(balance) };
    },

    async readLedger({ ctx, principal: { account, mode }, query }) {
      const id = ledgerAccountId(account._id, mode);
      if (query.from && query.to && query.from >= query.to) throw badPeriod('from must be before to.');
      const period = { ...(query.from ? { from: query.from } : {}), ...(query.to ? { to: query.to } : {}) };
      if (wantsCsv(ctx)) {
        if (query.limit !== undefined || query.cursor !== undefined) {
          throw invalidParam(
            query.limit === undefined ? 'cursor' : 'limit',
            'limit and cursor cannot be combined with CSV, which contains the whole period.',
          );
        }
        return csvResponse(
          ctx,
          'ledger',
          csvOf(LEDGER_COLUMNS, ledgerEntryViews(statements.entries({ ledgerAccountId: id, ...period }))),
        );
      }
      const after = query.cursor === undefined ? {} : { after: cursors.read(id, query.cursor) };
      const asked = { ledgerAccountId: id, ...period, ...after, limit: pageSize(query) };
      const page = await withDeadline(deadlineOf(ctx), statements.page(asked));
      return {
        data: page.entries.map(ledgerEntryView),
        has_more: page.next !== undefined,
        ...(page.next ? { next_cursor: cursors.write(id, page.next) } : {}),
      };
    },

    async readUsage({ ctx, principal: { account, mode }, query }) {
      const { group_by: groupBy } = query;
      const given = { ...(query.from ? { from: query.from } : {}), ...(query.to ? { to: query.to } : {}) };
      const period = usagePeriod(given, ctx.state.arrivedAt);
      if (typeof period === 'string') throw badPeriod(period);
      const limits = { workMs: USAGE_TIMEOUT_MS, totalMs: USAGE_TOTAL_TIMEOUT_MS, createLateError: tooManyCalls };
      const limit = createStepLimit(ctx, limits);
      const { signal, runStep } = limit;
      const asked = { ledgerAccountId: ledgerAccountId(account._id, mode), ...period, groupBy, signal, runStep };
      const rows = await limit.until(statements.usage(asked));
      const data = rows.map((row) => usageView(groupBy, row));
      if (wantsCsv(ctx)) return csvResponse(ctx, 'usage', csvOf(USAGE_COLUMNS[groupBy], data));
      return {
        mode,
        currency: CURRENCY,
        group_by: groupBy,
        from: period.from.toISOString(),
        to: period.to.toISOString(),
        data,
        total: usageTotal(rows),
      };
    },
  };
}

function tooManyCalls(): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE', 'The period contains too many calls. Request a shorter period.');
}

function badPeriod(fault: string): ServiceError {
  return invalidParam('from', fault);
}

/**
 * Streams a CSV with only one chunk in memory. A failure before the first chunk becomes an error response. A later
 * failure cuts the connection, so that the client never mistakes a partial file for a complete one.
 */
async function csvResponse(ctx: ApiContext, name: string, csv: AsyncIterable<string>): Promise<CsvResponse> {
  const limits = { workMs: CSV_START_TIMEOUT_MS, totalMs: CSV_TIMEOUT_MS };
  const limit = createStepLimit(ctx, limits);
  const { signal, runStep } = limit;
  const stream = Readable.from(inSteps(csv, runStep), { objectMode: false, signal });
  try {
    await limit.until(once(stream, 'readable'));
    limit.allow(CSV_TIMEOUT_MS);
  } catch (error) {
    stream.destroy();
    throw signal.aborted ? serviceUnavailable() : error;
  }
  return content(CSV_TYPE, stream, { headers: { 'Content-Disposition': `attachment; filename="${name}.csv"` } });
}
