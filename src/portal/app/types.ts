/** A page of a list in a response of the management API. */
export interface ListPage<T> {
  data: T[];
  has_more: boolean;
  next_cursor?: string;
}
