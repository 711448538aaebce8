/** A page of a list, as the management interface answers it. */
export interface PageOf<T> {
  data: T[];
  has_more: boolean;
  next_cursor?: string;
}

/** What an agent can be made of. */
export interface Choices {
  voices: { name: string; description: string; languages: string[] }[];
  languages: { tag: string; name: string }[];
}
