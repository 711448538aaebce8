/** How a query restricts a field: to some values, to a range, or in a way that needs every document. */
type Restriction = 'values' | 'range' | 'other';

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
  /** Fields of the order, in their order. */
  sort: string[];
}

type Filter = Record<string, unknown>;

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
  const order: Restriction[] = ['other', 'range', 'values'];
  const present = fields[field] ?? 'other';
  fields[field] = order.indexOf(restriction) > order.indexOf(present) ? restriction : present;
}

function restrictionOf(value: unknown): Restriction {
  if (value instanceof RegExp) return 'other';
  if (typeof value !== 'object' || value === null) return 'values';
  const operators = Object.keys(value).filter((key) => key.startsWith('$'));
  if (operators.length === 0 || operators.includes('$in') || operators.includes('$eq') || operators.includes('$all'))
    return 'values';
  if (operators.some((operator) => RANGE_OPERATORS.has(operator))) return 'range';
  return 'other';
}

/** The keys of an index, in their order. */
export type IndexFields = readonly string[];

/**
 * Whether an index leads to the documents of a query: its first field is restricted, in every alternative. The order of
 * a query without restrictions may come from an index, too.
 */
export function isServedBy(
  indexes: readonly IndexFields[],
  { filter, sort }: Pick<QueryShape, 'filter' | 'sort'>,
): boolean {
  const isLed = ({ fields, or }: FilterShape): boolean =>
    indexes.some(([first = '']) => fields[first] === 'values' || fields[first] === 'range') ||
    or.some((alternatives) => alternatives.every(isLed));
  if (isLed(filter)) return true;
  return sort.length > 0 && indexes.some((index) => sort.every((field, at) => index[at] === field));
}
