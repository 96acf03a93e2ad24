-- Subjects that an identity provider vouches for: its issuer, and what it calls them there. Null: made here.
ALTER TABLE subjects
  ADD COLUMN issuer text,
  ADD COLUMN external text,
  ADD CONSTRAINT subjects_issued CHECK ((issuer IS NULL) = (external IS NULL)),
  ADD CONSTRAINT subjects_external UNIQUE (issuer, external);
