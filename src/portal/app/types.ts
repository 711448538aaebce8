/** A page of a list, as the management interface answers it. */
export interface PageOf<T> {
  data: T[];
  has_more: boolean;
  next_cursor?: string;
}
