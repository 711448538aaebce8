/** A page of a list, as the management interface answers it. */
export interface PageOf<T> {
  data: T[];
  has_more: boolean;
  next_cursor?: string;
}

/** Who is logged in, and to which account. */
export interface Session {
  user: { user_id: string; email: string };
  account: { account_id: string; name: string };
  role: 'owner' | 'developer' | 'viewer';
  /** Of the namespace's workflows; only where the service tells operators. */
  temporal_ui_url?: string;
}

/** What an agent can be made of. */
export interface Choices {
  voices: { name: string; description: string; languages: string[] }[];
  languages: { tag: string; name: string }[];
}
