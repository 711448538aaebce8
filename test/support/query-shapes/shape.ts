/** How a query restricts a field: to some values, to none, to a range, or in a way that needs every document. */
type Restriction = 'values' | 'missing' | 'range' | 'other';

/** Which documents a query reads, without the values. All fields restrict it, and one of the alternatives of each `or`. */
export interface FilterShape {
  fields: Record<string, Restriction>;
  or: FilterShape[][];
}

export interface QueryShape {
  /** The file that asks. */
  from: string;
  collection: string;
  command: string;
  filter: FilterShape;
  /** Fields of the order, in their order; those in descending order begin with `-`. */
  sort: string[];
}

type Filter = Record<string, unknown>;

const LITERAL_BEGINNING = /^\^\w/;
const RANGE_OPERATORS = new Set(['$gt', '$gte', '$lt', '$lte']);

/** Leaves out the values of a filter. */
export function filterShape(filter: Filter): FilterShape {
  const shape: FilterShape = { fields: {}, or: [] };
  for (const [key, value] of Object.entries(filter)) {
    if (key === '$or') shape.or.push(distinct((value as Filter[]).map(filterShape)));
    else if (key === '$and') {
      for (const { fields, or } of (value as Filter[]).map(filterShape)) {
        for (const [field, restriction] of Object.entries(fields)) restrict(shape, field, restriction);
        shape.or.push(...or);
      }
    } else if (!key.startsWith('$')) restrict(shape, pathOf(key), restrictionOf(value));
  }
  return shape;
}

/** The path of a field. Names below the first one are often ids. */
function pathOf(key: string): string {
  const [first = '', ...rest] = key.split('.');
  return rest.length === 0 ? first : `${first}.*`;
}

function distinct(shapes: FilterShape[]): FilterShape[] {
  return [...new Map(shapes.map((shape) => [JSON.stringify(shape), shape])).values()];
}

/** Keeps the strongest of several restrictions of a field. */
function restrict({ fields }: FilterShape, field: string, restriction: Restriction): void {
  const order: Restriction[] = ['other', 'range', 'missing', 'values'];
  const present = fields[field] ?? 'other';
  fields[field] = order.indexOf(restriction) > order.indexOf(present) ? restriction : present;
}

function restrictionOf(value: unknown): Restriction {
  if (value instanceof RegExp) return value.flags === '' ? ofPattern(value.source) : 'other';
  if (value === null) return 'missing';
  if (typeof value !== 'object') return 'values';
  if ((value as { $exists?: unknown }).$exists === false) return 'missing';
  const operators = Object.keys(value).filter((key) => key.startsWith('$'));
  if (operators.length === 0 || operators.includes('$in') || operators.includes('$eq') || operators.includes('$all'))
    return 'values';
  if (operators.some((operator) => RANGE_OPERATORS.has(operator))) return 'range';
  const { $regex: pattern, $options: flags } = value as { $regex?: unknown; $options?: unknown };
  if (typeof pattern === 'string' && flags === undefined) return ofPattern(pattern);
  return 'other';
}

/** Returns the order of a query as shapes have it. */
export function sortShape(order: object | undefined): string[] {
  return Object.entries(order ?? {}).map(([field, direction]) => (isDescending(direction) ? `-${field}` : field));
}

const isDescending = (direction: unknown) => ['-1', 'desc', 'descending'].includes(String(direction));

/** A pattern that says how a text begins is a range. */
function ofPattern(source: string): Restriction {
  return LITERAL_BEGINNING.test(source) ? 'range' : 'other';
}

/** How an alternative of a query restricts the fields. */
export type Restrictions = Readonly<Record<string, Restriction>>;

export interface IndexShape {
  /** Its fields in their order; those in descending order begin with `-`. */
  fields: readonly string[];
  /** Whether documents differ in these fields. */
  isUnique: boolean;
  /** Fields that a query must restrict, because the index has only some documents. */
  requires: readonly string[];
  /** How many of its first fields lead to so few documents that the rest of a query may be checked on each of them. */
  fewBy: number;
}

/**
 * Returns the alternatives of a query that no index serves. An index serves an alternative if it leads to no document that
 * the query does not want, and to the others in its order: first come the fields with given values, in any order, then one
 * with a range, or those of the order, whose first one may have a range. It need not if it leads to few documents.
 */
export function unservedAlternatives(
  indexes: readonly IndexShape[],
  { filter, sort }: Pick<QueryShape, 'filter' | 'sort'>,
): Restrictions[] {
  return alternativesOf(filter).filter((fields) => !indexes.some((index) => isServedBy(index, fields, sort)));
}

function isServedBy({ fields, isUnique, requires, fewBy }: IndexShape, asked: Restrictions, sort: readonly string[]) {
  if (!requires.every((field) => field in asked && asked[field] !== 'missing')) return false;
  const names = fields.map(nameOf);
  const valued = names.findIndex((name) => !['values', 'missing'].includes(asked[name] ?? ''));
  const given = valued < 0 ? names.length : valued;
  if ((fewBy > 0 && given >= fewBy) || (isUnique && given === names.length)) return true;
  const ranged = names[given];
  const covered = new Set([...names.slice(0, given), ...requires]);
  if (ranged !== undefined && asked[ranged] === 'range') covered.add(ranged);
  const order = sort.filter((field) => !names.slice(0, given).includes(nameOf(field)));
  if (given === 0 && !covered.has(names[0] ?? '') && order.length === 0) return false;
  return Object.keys(asked).every((name) => covered.has(name)) && isOrderOf(fields.slice(given), order);
}

/** Whether an index has documents in an order, or in the opposite one. */
function isOrderOf(fields: readonly string[], order: readonly string[]): boolean {
  const opposite = order.map((field) => (field.startsWith('-') ? field.slice(1) : `-${field}`));
  return [order, opposite].some((each) => each.every((field, at) => fields[at] === field));
}

const nameOf = (field: string) => field.replace(/^-/, '');

/** The alternatives of a filter, each with all its fields. */
function alternativesOf({ fields, or }: FilterShape): Restrictions[] {
  return or.reduce<Restrictions[]>(
    (before, alternatives) =>
      before.flatMap((one) => alternatives.flatMap(alternativesOf).map((other) => joined(one, other))),
    [fields],
  );
}

function joined(one: Restrictions, other: Restrictions): Restrictions {
  const shape: FilterShape = { fields: { ...one }, or: [] };
  for (const [field, restriction] of Object.entries(other)) restrict(shape, field, restriction);
  return shape.fields;
}
