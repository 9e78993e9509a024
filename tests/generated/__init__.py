"""What writes files of the project that follow from its code: manual pages, words of completion, schemas of documents."""
