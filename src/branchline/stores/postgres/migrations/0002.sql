-- Closes what rights on "all tables" left open to a role that does not own them.

-- Row-level security of a partitioned table does not hold for statements that name a partition. Without a policy a
-- partition shows no row to such a role; statements on branchline.line are not affected.
DO $$
DECLARE part regclass;
BEGIN
  FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'branchline.line'::regclass LOOP
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', part);
  END LOOP;
END $$;

-- The version is for everybody to read and for the owner to write, whatever is granted.
ALTER TABLE branchline.migration ENABLE ROW LEVEL SECURITY;
CREATE POLICY version ON branchline.migration FOR SELECT USING (true);

-- Rights that earlier instructions granted too widely. TRUNCATE, REFERENCES and TRIGGER are not subject to row-level
-- security.
DO $$
DECLARE wide record;
BEGIN
  FOR wide IN
    SELECT DISTINCT c.oid::regclass AS relation, c.relname, c.relispartition,
      CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(acl.grantee)) END AS role
    FROM pg_class AS c
    JOIN (
      SELECT oid AS relation, (aclexplode(relacl)).grantee FROM pg_class
      UNION SELECT attrelid, (aclexplode(attacl)).grantee FROM pg_attribute
    ) AS acl ON acl.relation = c.oid
    WHERE c.relnamespace = 'branchline'::regnamespace AND c.relkind IN ('r', 'p') AND acl.grantee <> c.relowner
  LOOP
    EXECUTE format(
      'REVOKE %s ON %s FROM %s CASCADE',
      CASE
        WHEN wide.relispartition THEN 'ALL'
        WHEN wide.relname = 'migration' THEN 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER'
        ELSE 'TRUNCATE, REFERENCES, TRIGGER'
      END, wide.relation, wide.role);
  END LOOP;
END $$;
