-- Sessions, one row for each line. Every key begins with tenant and session, nothing refers across sessions, and
-- there are no sequences and no triggers, so that the tables can be distributed by session.

CREATE TABLE branchline.session (
  tenant text NOT NULL,
  id uuid NOT NULL,                  -- version 7, made by the client
  store text NOT NULL,               -- one database may hold several stores
  key text COLLATE "C" NOT NULL,
  state smallint NOT NULL,           -- 0 log, 1 draft, 2 trash
  was smallint,                      -- the state before it was removed
  size bigint NOT NULL,              -- bytes; what an append compares
  torn boolean NOT NULL,             -- the last line lacks its newline
  created bigint NOT NULL,           -- Unix milliseconds, as all times here
  modified bigint NOT NULL,
  touched bigint NOT NULL,           -- modified / 10 s: indexed in its place, so that most appends change no index
  removed bigint,
  followed bigint NOT NULL DEFAULT 0,  -- when somebody last followed this log; appends notify only then
  worded bigint NOT NULL DEFAULT 0,  -- up to here the text is in branchline.entry
  PRIMARY KEY (tenant, id)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX session_key ON branchline.session (tenant, store, key) WHERE state < 2;
CREATE INDEX session_newest ON branchline.session (tenant, store, state, touched DESC);

CREATE TABLE branchline.line (
  tenant text NOT NULL,
  session uuid NOT NULL,
  start bigint NOT NULL,             -- byte offset in the log
  data bytea NOT NULL,               -- the exact line with its newline
  PRIMARY KEY (tenant, session, start)
) PARTITION BY HASH (session);

-- Derived from the lines; may be emptied at any time.
CREATE TABLE branchline.tree (
  tenant text NOT NULL,
  session uuid NOT NULL,
  covered bigint NOT NULL,           -- bytes of the log in this index
  body bytea NOT NULL,
  PRIMARY KEY (tenant, session)
);
CREATE TABLE branchline.entry (
  tenant text NOT NULL,
  session uuid NOT NULL,
  start bigint NOT NULL,
  id text NOT NULL,
  type text NOT NULL,
  role text,
  words tsvector NOT NULL,
  PRIMARY KEY (tenant, session, start)
);
CREATE INDEX entry_id ON branchline.entry (tenant, id);
CREATE INDEX entry_words ON branchline.entry USING gin (words);

DO $$
BEGIN
  FOR part IN 0..15 LOOP
    EXECUTE format(
      'CREATE TABLE branchline.line_%s PARTITION OF branchline.line FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
      lpad(part::text, 2, '0'), part);
  END LOOP;
END $$;

-- A role that does not own the tables sees the rows of one tenant, and none before it has named one. Owners see all
-- unless FORCE is set as well.
ALTER TABLE branchline.session ENABLE ROW LEVEL SECURITY;
ALTER TABLE branchline.line ENABLE ROW LEVEL SECURITY;
ALTER TABLE branchline.tree ENABLE ROW LEVEL SECURITY;
ALTER TABLE branchline.entry ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON branchline.session USING (tenant = current_setting('branchline.tenant', true));
CREATE POLICY tenant ON branchline.line USING (tenant = current_setting('branchline.tenant', true));
CREATE POLICY tenant ON branchline.tree USING (tenant = current_setting('branchline.tenant', true));
CREATE POLICY tenant ON branchline.entry USING (tenant = current_setting('branchline.tenant', true));
